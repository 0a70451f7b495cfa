"""A coding assistant for the terminal that never sends Gemini the same text twice."""

__version__ = "0.1.0"
