"""Limits, the meter, and what certificate files are made of: numbers, monomials, polynomials, JSON.

Standard library only.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import certificates.kernel as kernel
from certificates.kernel import number

FORMAT = "sosdp-certificate/1"
PROBLEM_FORMAT = "sosdp-problem/1"
RESULT_FORMAT = "sosdp-result/1"
GRAM_KINDS = ("sos", "inequality", "product", "psd", "expectation", "expectation_psd")
FREE_KINDS = ("equality", "expectation_equality", "square")
MAX_BYTES = 1 << 26  # a file larger than this is not opened
MAX_DIGITS = 4000  # in one numeral; below Python's own limit for converting text to integers
MAX_POWER = 1000  # of a variable in a claim, as in a problem
MAX_BITS = 1 << 18  # of one common denominator
MAX_STORED = 1 << 32  # bits (half a gigabyte) in all integers that a check stores
ENTRY = 1000  # bits of a dictionary entry, besides the number itself
WORK = 100_000_000  # elementary steps (about 0.1 microseconds each) before giving up on a file

Number = tuple[int, int]  # numerator, positive denominator; not necessarily reduced
Monomial = tuple[tuple[int, int], ...]  # (variable, power), ascending variables, positive powers
Terms = dict[Monomial, Number]


class Unreadable(Exception):
    """The input is not a certificate this checker can read."""


class Invalid(Exception):
    """The certificate was read and does not prove its claim."""


class Meter:
    """Counts time and memory, so that no input, however small on disk, takes much of either.

    Time: `work` elementary steps.  Memory: bits of the integers that are stored, counted when they are made
    and never given back, each with `ENTRY` bits for the object that holds it.
    """

    def __init__(self, work: int, bits: int = MAX_STORED) -> None:
        self.left = work
        self.bits = bits

    def hold(self, entries: int, bits: int = 0) -> None:
        """Pay for storing so many integers of so many bits; raises Unreadable."""
        self.bits -= entries * (ENTRY + bits)
        if self.bits < 0:
            raise Unreadable("checking this takes more memory than the limit allows")

    def spend(self, amount: int) -> None:
        """Pay for so many elementary steps; raises Unreadable."""
        self.left -= amount
        if self.left < 0:
            raise Unreadable("checking this takes more work than the limit allows (raise it with --work)")

    @contextmanager
    def kernel(self) -> Iterator[None]:
        """What the kernel does here is paid for, a step of it as five; what it refuses is Invalid."""
        try:
            with kernel.within(self.left // 5) as left:
                yield
            self.left = 5 * left[0]
        except kernel.TooLong as error:
            raise Unreadable(f"{error} (raise it with --work)") from None
        except kernel.NotProven as error:
            raise Invalid(str(error)) from None


_RATIONAL = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}(?:/[0-9]{{1,{MAX_DIGITS}}})?")


def brief(value: Any) -> str:
    """A short ASCII form of anything, for messages."""
    if isinstance(value, bool) or value is None or isinstance(value, (int, float)):
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
            return f"an integer of {value.bit_length()} bits"
        return repr(value)
    if isinstance(value, str):
        return ascii(value[:40]) + ("..." if len(value) > 40 else "")
    return f"a {type(value).__name__}"


def show_number(num: int, den: int) -> str:
    """A rational in decimal digits, in lowest terms."""
    common = math.gcd(num, den)
    num, den = num // common, den // common
    bits = max(num.bit_length(), den.bit_length())
    if bits > 3.33 * MAX_DIGITS:  # only differences of two sides are this long, never a number of a file
        return f"{'-' if num < 0 else ''}(a number of {bits} bits)"
    return str(num) if den == 1 else f"{num}/{den}"


def list_of(value: Any, where: str) -> list:
    """The value, if it is a list."""
    if not isinstance(value, list):
        raise Unreadable(f"{where}: expected a list, got {brief(value)}")
    return value


def integer(value: Any, where: str, low: int, high: int) -> int:
    """The value, if it is an integer in low..high."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unreadable(f"{where}: expected an integer, got {brief(value)}")
    if not low <= value <= high:
        raise Unreadable(f"{where}: {brief(value)} is outside {low}..{high}")
    return value


def rational(value: Any, where: str) -> Number:
    """Numerator and denominator of a rational written as text."""
    if not isinstance(value, str) or not _RATIONAL.fullmatch(value):
        raise Unreadable(f'{where}: expected a rational written as a string like "-3/8", got {brief(value)}')
    top, _, bottom = value.partition("/")
    num, den = int(top), int(bottom) if bottom else 1
    if den == 0:
        raise Unreadable(f"{where}: zero denominator in {brief(value)}")
    return num, den


def monomial_of(value: Any, where: str, variables: int) -> Monomial:
    """A monomial from its JSON form."""
    found = []
    for pair in list_of(value, where):
        if not isinstance(pair, list) or len(pair) != 2:
            raise Unreadable(f"{where}: expected [variable, power], got {brief(pair)}")
        found.append((integer(pair[0], where, 0, variables - 1), integer(pair[1], where, 1, MAX_POWER)))
    for one, two in zip(found, found[1:], strict=False):
        if one[0] >= two[0]:
            raise Unreadable(f"{where}: variables of a monomial must be ascending and distinct")
    return tuple(found)


def polynomial_of(value: Any, where: str, variables: int, meter: Meter) -> Terms:
    """A polynomial from its JSON form, if its numbers have a common denominator that is not absurdly long."""
    terms: Terms = {}
    for term in list_of(value, where):
        if not isinstance(term, list) or len(term) != 2:
            raise Unreadable(f"{where}: expected [coefficient, monomial], got {brief(term)}")
        coefficient = rational(term[0], where)
        monomial = monomial_of(term[1], where, variables)
        if coefficient[0] == 0:
            raise Unreadable(f"{where}: a term has coefficient zero; leave it out")
        if monomial in terms:
            raise Unreadable(f"{where}: a monomial occurs twice")
        terms[monomial] = coefficient
    common = common_denominator({den for _, den in terms.values()}, meter)
    longest = max((abs(num).bit_length() for num, _ in terms.values()), default=0)
    meter.hold(len(terms), longest + common.bit_length())
    return terms


def keys_of(value: Any, where: str, required: set[str], optional: set[str]) -> dict:
    """The value, if it is an object with these keys."""
    if not isinstance(value, dict):
        raise Unreadable(f"{where}: expected an object, got {brief(value)}")
    for key in value:
        if key not in required and key not in optional:
            raise Unreadable(f"{where}: unknown key {brief(key)}")
    for key in sorted(required):
        if key not in value:
            raise Unreadable(f"{where}: the key {key!r} is missing")
    return value


def common_denominator(dens: set[int], meter: Meter) -> int:
    """Least common denominator, refused when it is absurdly long."""
    found = 1
    for den in dens:
        meter.spend(1 + (found.bit_length() >> 6))
        found = math.lcm(found, den)
        if found.bit_length() > MAX_BITS:
            raise Unreadable(f"a common denominator has more than {MAX_BITS} bits")
    return found


def affordable(number: Number, power: int, meter: Meter) -> int:
    """Bits of a power of a number, refused when they are absurdly many."""
    bits = max(abs(number[0]).bit_length() * (abs(number[0]) > 1), number[1].bit_length() * (number[1] > 1))
    if bits * power > MAX_BITS:
        raise Unreadable(f"a power of a number has more than {MAX_BITS} bits")
    return bits * power


def times_power(value: Fraction, number: Number, power: int, meter: Meter) -> Fraction:
    """value * number ** power, paid for before it is computed (products of fractions take a gcd)."""
    size = max(abs(value.numerator).bit_length(), value.denominator.bit_length())
    size += affordable(number, power, meter)
    if size > MAX_BITS:
        raise Unreadable(f"a value has more than {MAX_BITS} bits")
    words = size >> 5
    meter.spend(10 + words + (words * words >> 3))
    return value * Fraction(*number) ** power


def another_file(content: Any) -> str:
    """What a JSON object is when it is no certificate but a file that people take for one; "" otherwise."""
    if not isinstance(content, dict) or "claim" in content:
        return ""
    if content.get("format") == RESULT_FORMAT:
        return (
            "this is a result of 'sosdp solve --json', not a certificate: give 'sosdp solve' "
            "--certificate CERT.json as well, and check that file"
        )
    questions = {"minimize", "maximize", "feasible", "sos", "subject_to"}
    if content.get("format") == PROBLEM_FORMAT or ("format" not in content and questions & content.keys()):
        return (
            "this is a problem file, not a certificate: "
            "'sosdp solve PROBLEM.sos.json --certificate CERT.json' makes one, and "
            "'sosdp verify CERT.json --against PROBLEM.sos.json' checks it"
        )
    return ""


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable("an object has the same key twice")
    return found


def _refuse_constant(text: str) -> Any:
    raise Unreadable(f"{text} is not a number")


def _refuse_float(text: str) -> Any:
    raise Unreadable(f"the number {brief(text)} is not an integer; write rationals as strings")


def _exact_integer(text: str) -> int:
    if len(text) > 20:
        raise Unreadable(f"the integer {brief(text)} is too long; write it as a string")
    return int(text)


def load_json(path: str, exact_only: bool, max_bytes: int) -> Any:
    """The object a JSON file holds, integers and decimals exact; raises Unreadable for anything unusual."""
    try:
        about = os.stat(path)  # a pipe or a device may never end, so it is not even opened
        if not stat.S_ISREG(about.st_mode):
            raise Unreadable("not a regular file")
        if about.st_size > max_bytes:
            raise Unreadable(
                f"the file has {about.st_size} bytes, more than the limit of {max_bytes} (--max-bytes)"
            )
        with open(path, "rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise Unreadable(f"cannot open it: {error.strerror or error}") from None
    except ValueError as error:  # a zero byte in the name
        raise Unreadable(f"cannot open it: {error}") from None
    if len(data) > max_bytes:
        raise Unreadable(f"the file has more than {max_bytes} bytes (--max-bytes)")
    # a list or an object takes about 100 bytes in memory, a string or an item about 50
    stored = 800 * (data.count(b"[") + data.count(b"{")) + 400 * (data.count(b'"') // 2 + data.count(b","))
    if stored > MAX_STORED:
        raise Unreadable("reading this takes more memory than the limit allows")
    try:
        content = json.loads(
            data.decode(
                "utf-8" if exact_only else "utf-8-sig"
            ),  # of problems a mark at the start is no error
            object_pairs_hook=_no_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_refuse_float if exact_only else number,
            parse_int=_exact_integer if exact_only else int,
        )
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8 text") from None
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"not JSON: {str(error)[:200]}") from None
    if content is None:  # which says elsewhere that there is no problem to compare with
        raise Unreadable("it holds null in place of an object")
    return content
