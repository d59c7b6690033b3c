"""Which numbers of a fit a picture shows: what is asked for, and what is handed to the room that draws."""
