"""Other libraries' names over this one."""
