"""Functions that tests hand over as parameters."""


def twice_first(sample):
    return 2 * float(sample[0])
