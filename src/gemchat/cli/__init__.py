"""The command line: each command parses, makes one call into gemchat and shows the result once."""
