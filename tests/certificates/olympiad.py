"""Inequalities of competitions, as rows of `statements`."""

from tests.certificates.stating import POSITIVE, Row, least, most, sums

OLYMPIAD: list[Row] = [
    (
        "1961, the triangle's area",
        sums("(x**2+y**2+z**2)**2 - 3*(2*x**2*y**2+2*y**2*z**2+2*z**2*x**2-x**4-y**4-z**4)"),
        "sos",
    ),
    (
        "1964",
        sums(
            "3*a*b*c - a**2*(b+c-a) - b**2*(c+a-b) - c**2*(a+b-c)", *POSITIVE, degree=4, products="schmudgen"
        ),
        "none",
    ),
    (
        "1964, as sides",
        sums(
            "3*(y+z)*(z+x)*(x+y) - 2*(y+z)**2*x - 2*(z+x)**2*y - 2*(x+y)**2*z", "x >= 0", "y >= 0", "z >= 0"
        ),
        "sos",
    ),
    (
        "1983, as sides",
        sums(
            "x*y**3 + y*z**3 + z*x**3 - x*y*z*(x + y + z)",
            "x >= 0",
            "y >= 0",
            "z >= 0",
            degree=4,
            products="schmudgen",
        ),
        "sos",
    ),
    ("1983, squared", sums("x**2*y**6 + y**2*z**6 + z**2*x**6 - x**2*y**2*z**2*(x**2+y**2+z**2)"), "sos"),
    (
        "1984",
        least(
            "x*y + y*z + z*x - 2*x*y*z",
            "x >= 0",
            "y >= 0",
            "z >= 0",
            "x + y + z == 1",
            degree=4,
            products="schmudgen",
        ),
        "0",
    ),
    (
        "1984, above",
        most(
            "x*y + y*z + z*x - 2*x*y*z",
            "x >= 0",
            "y >= 0",
            "z >= 0",
            "x + y + z == 1",
            degree=4,
            products="schmudgen",
        ),
        "7/27",
    ),
    (
        "1995, in inverses",
        sums(
            "2*(x**2*(z+x)*(x+y) + y**2*(x+y)*(y+z) + z**2*(y+z)*(z+x)) - (x+y+z)*(x+y)*(y+z)*(z+x)",
            "x >= 0",
            "y >= 0",
            "z >= 0",
            degree=4,
            products="schmudgen",
        ),
        "sos",
    ),
    (
        "1999, two to four",
        most(
            "x*y*(x**2+y**2) + y*z*(y**2+z**2) + z*x*(z**2+x**2)",
            "x >= 0",
            "y >= 0",
            "z >= 0",
            "x + y + z == 1",
            degree=4,
            products="schmudgen",
        ),
        "1/8",
    ),
    (
        "2000, product of shifts",
        most(
            "(a-1)*(b-1)*(c-1) + 0*a",
            "a >= 0",
            "b >= 0",
            "c >= 0",
            "a + b + c == 3",
            degree=4,
            products="schmudgen",
        ),
        "2",
    ),
    (
        "2006",
        most("a*b*(a**2-b**2) + b*c*(b**2-c**2) + c*a*(c**2-a**2)", "a**2 + b**2 + c**2 == 1"),
        "0.3977475644174330~",
    ),
    ("2008", sums("(a*b*c)**2 + 1 - 2*a*b*c"), "sos"),
    (
        "Putnam 2003, in two",
        sums(
            "(a + b)*(c + d) - 2*x*y*z*w - x**2*z**2 - y**2*w**2",
            "a == x**2",
            "b == y**2",
            "c == z**2",
            "d == w**2",
            degree=4,
        ),
        "sos",
    ),
    ("Russia 1991", sums("(x + y + z)**2 - 3*(x*y + y*z + z*x)"), "sos"),
    ("Ireland 1998", sums("x**8 - x**5 + x**2 - x + 1"), "sos"),
    ("Poland 1996", least("a/3 + b/3 + c/3 - 1/3 + (a - b)**2", "a + b + c == 1"), "0"),
    (
        "Austria 2000",
        sums("(a**3+b**3)*(b+a) - (a**2+b**2)**2", "a >= 0", "b >= 0", products="schmudgen"),
        "sos",
    ),
    ("Taiwan 1999", sums("27*(a+b+c)**2*0 + (a+b+c)**2 - 3*(a*b+b*c+c*a)"), "sos"),
    ("Baltic 2004, squares", sums("a**4 + b**4 + 8 - 8*a*b"), "sos"),
    (
        "simplex, two products",
        most("x*y + y*z", "x >= 0", "y >= 0", "z >= 0", "x + y + z == 1", degree=2),
        "1/4",
    ),
    ("simplex, three", most("x*y*z", "x >= 0", "y >= 0", "z >= 0", "x + y + z == 1", degree=4), "1/27"),
    ("cyclic quartic", sums("x**4 + y**4 + z**4 - x**2*y*z - x*y**2*z - x*y*z**2"), "sos"),
]
