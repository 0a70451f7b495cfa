"""The pure core: values and functions of values. No I/O, clock, randomness, SDK or terminal."""
