"""Who a worker averages with. docs/model.md: D-PSGD, AD-PSGD."""


def columns_of(p):
    """Of a torus as square as p allows."""
    return next(columns for columns in range(1, p + 1) if columns * columns >= p and p % columns == 0)


def around(rank, p, distances):
    return {(rank + sign * distance) % p for distance in distances for sign in (1, -1)}


def on_torus(rank, p):
    columns = columns_of(p)
    row, column = divmod(rank, columns)
    rows = p // columns
    return ({row * columns + each for each in around(column, columns, [1])} | {each * columns + column for each in around(row, rows, [1])})


def neighbours(graph, rank, p, doubling=2):
    """In rank order. An exponential graph: 1, 2, 4, … places away."""
    found = {"ring": lambda: around(rank, p, [1]), "full": lambda: set(range(p)), "torus": lambda: on_torus(rank, p),
             "exponential": lambda: around(rank, p, [1 << k for k in range(p) if 1 << k < p])}[graph]()
    return sorted(found - {rank})
