"""Sources of datasets: package index, Hugging Face Hub, snapshots, synthetic texts.

May import `tasks.data.schema` and `tasks.data.types`.
"""
