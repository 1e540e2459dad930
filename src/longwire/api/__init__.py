"""Operations of the contract: one file a noun, with wire shapes, permissions and short handlers.

A handler reads its input, calls one function below and shapes the reply. It decides nothing.
"""
