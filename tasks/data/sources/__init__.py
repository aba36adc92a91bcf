"""Sources of datasets: package index, Hugging Face Hub, web, snapshots, synthetic texts."""
