"""Steering: guides under the loops that write single texts and batches."""
