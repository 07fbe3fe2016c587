# Horner's rule, two torch operators a term.
def polynomial(x, coefficients, y):
    y.zero_()
    for coefficient in coefficients.tolist():
        y.mul_(x).add_(coefficient)
