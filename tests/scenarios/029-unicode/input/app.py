naïve = '日本語 🙂'
