"""From measured data to parameters, and what one may believe of them."""
