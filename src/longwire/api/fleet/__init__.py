"""Operations on devices, their types, configuration, decoders and downlinks.

Wire shapes, permissions and short handlers; the rules belong to `longwire.fleet`.
"""
