"""What every other room uses: errors, types, parameters and their ranges, words for numbers and units."""
