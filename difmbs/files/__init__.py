"""Files: models, tables of measurements, results; read strictly, written safely."""
