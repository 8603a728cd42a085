"""Independent references: slow, plain, 50 digits and more. Nothing here imports bothworlds."""
