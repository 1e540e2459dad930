"""WHAT A PAYLOAD MEANS: the decoders of device types, from bytes to values and back.

Owns three kinds of decoders: the vendor's bit grammar, Cayenne LPP, and a customer's JavaScript. A
decoder is a pure function of the payload: it knows no device, no group and no database, and calls
of it know nothing of each other. Uses nothing but the ground. Never runs a customer's code in the
service's own process: that happens in sandbox processes, which can be stopped at any moment.
"""
