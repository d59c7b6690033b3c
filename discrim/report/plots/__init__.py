"""Pictures of labelled tables; they know no model. Only here, and when it draws, matplotlib is imported."""
