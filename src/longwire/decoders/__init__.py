"""Payload decoders of device types, from bytes to values and back.

There are three kinds: the vendor's bit grammar, Cayenne LPP, and a customer's JavaScript. A decoder
is a pure function of the payload: it knows no device, group or database, and keeps no state between
calls. A customer's code never runs in the service's own process, only in sandbox processes, which
can be killed at any moment.
"""
