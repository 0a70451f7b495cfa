"""A loopback Gemini: the service's two APIs on 127.0.0.1, answered by an exchangeable mind."""
