"""nu(eta) as a picture: for each eta the range that the audit left open, and the corner that was asked about."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from html import escape

from auditor.errors import UsageError
from auditor.flow.parts import Profile
from auditor.flow.record import Record
from auditor.report.escape import xml_text

_LEFT, _TOP, _WIDTH, _HEIGHT = 60, 56, 480, 260


def profile_picture(record: Record) -> str:
    """An SVG drawn from the record alone. Both limits are steps: nu(eta) never rises, so a row holds up to the next."""
    if (profile := record.profile) is None:
        raise UsageError("--svg: no string was counted, and so there is nothing to draw")
    top = _round_up(1.15 * max(record.target, *(step.seen for step in profile.steps), _widest(profile)))
    title = escape(xml_text(f"{record.subject}: {record.verdict}"))
    size = f'viewBox="0 0 {_LEFT + _WIDTH + 20} {_TOP + _HEIGHT + 50}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" role="img">']
    parts.append(f"<title>{title}</title>")
    parts.append(f'<text x="{_LEFT}" y="20">{title}</text>')
    parts += _axes(top)
    parts += _band(profile, top)
    parts += _asked(profile.eta, record.target, top)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _widest(profile: Profile) -> float:
    """The upper limit at the asked eta, where it says something."""
    return min(1.0, profile.high)


def _round_up(value: float) -> float:
    return min(1.0, next((tick for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if value <= tick), 1.0))


def _x(eta: float) -> float:
    return _LEFT + _WIDTH * min(eta, 0.5) / 0.5


def _y(nu: float, top: float) -> float:
    return _TOP + _HEIGHT * (1 - min(nu, top) / top)


def _axes(top: float) -> Iterator[str]:
    bottom = _TOP + _HEIGHT
    for tick in (0, 0.1, 0.2, 0.3, 0.4, 0.5):
        yield f'<line x1="{_x(tick):.1f}" y1="{_TOP}" x2="{_x(tick):.1f}" y2="{bottom}" stroke="#ddd"/>'
        yield f'<text x="{_x(tick):.1f}" y="{bottom + 16}" text-anchor="middle" fill="#666">{tick:g}</text>'
    for part in (0, 0.25, 0.5, 0.75, 1):
        y = _y(part * top, top)
        yield f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + _WIDTH}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#666">{part * top:.3g}</text>'
    middle, eta = _LEFT + _WIDTH / 2, "eta: how often a string may give another output"
    yield f'<text x="{middle}" y="{bottom + 36}" text-anchor="middle">{eta}</text>'
    yield f'<text x="{_LEFT - 50}" y="{_TOP - 14}">nu: share of strings that give more</text>'


def _band(profile: Profile, top: float) -> Iterator[str]:
    """Between two rows the upper limit is the left one's, the lower limit the right one's."""
    steps = profile.steps
    for step, then in itertools.pairwise(steps):
        y, low = _y(step.high, top), _y(then.low, top)
        width = _x(then.eta) - _x(step.eta)
        yield (
            f'<rect x="{_x(step.eta):.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(1.0, low - y):.1f}" '
            'fill="#4a7fb5" fill-opacity="0.35"/>'
        )
    for step in steps:
        yield f'<circle cx="{_x(step.eta):.1f}" cy="{_y(step.seen, top):.1f}" r="3" fill="#1f4e79"/>'


def _asked(eta: float, nu: float, top: float) -> Iterator[str]:
    x, y = _x(eta), _y(nu, top)
    yield f'<path d="M {_LEFT} {y:.1f} H {x:.1f} V {_TOP + _HEIGHT}" fill="none" stroke="#000" stroke-width="2"/>'
    yield f'<text x="{x + 4:.1f}" y="{y - 4:.1f}">({eta:g}, {nu:g})</text>'
