naïve = '中文 🙃'
