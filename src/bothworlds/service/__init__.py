"""Decisions that are durable, shared and watched: the hub, its store, and what is built on them."""
