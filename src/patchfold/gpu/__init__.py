"""The steps on a GPU, with torch and Triton; nothing of it is imported unless it is used."""
