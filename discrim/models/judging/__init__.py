"""A fit judged by rows it did or did not see, alone or beside others."""
