"""The page of `jostle theory`, from its numbers."""

from pathlib import Path
from typing import Any

from jostle.reports.tables import markdown_table
from jostle.theory import bounds

Numbers = dict[str, Any]


def write_page(numbers: Numbers, page: Path, command: str) -> None:
    """Write the Markdown page; figures are in the folder of its name."""
    folder = page.stem
    parts = (
        f"# The theory, checked\n\nMade by `{command}`. What the statements say and why they hold: "
        "`docs/concepts/theory.md`. Numbers and instances: "
        f"[numbers.json]({folder}/numbers.json).\n",
        _verdicts(numbers["broken"]),
        _exact(numbers, folder),
        _broken(numbers["broken"], folder),
        _toy(numbers["toy"], folder),
        _critics(numbers["critics"], folder),
    )
    part = page.with_name(f".{page.name}.part")
    part.write_text("\n".join(parts))
    part.replace(page)


def _verdicts(numbers: Numbers) -> str:
    """Each statement of the paper, and whether it holds."""
    weak, extension = numbers["theorem_1_instance"], numbers["extension"]
    errors = ", ".join(f"{row['error']:.2g}" for row in extension)
    lines = [
        ("DeepSets theorem", "holds", "for every number of objects, with the ε of one object"),
        ("Lemma on weights (2 δ)", "holds", "(N − 1)/(M − 1) δ for every N, which is attained"),
        ("Lemma on products", "holds with ≤", "the printed < fails if all four numbers are 0"),
        ("Lemma on averages", "holds", "half of its second term is enough"),
        (
            "Theorem 1, M = 2", "**broken**",
            f"error {weak['error']:.3f} of the range, bound {weak['theorem_1']:.1e}; weights must "
            "also be close on sets that an object does not belong to",
        ),
        ("Theorem 1, M ≥ 3", "holds", "by another proof: the printed one has the same gap"),
        ("Lemma on attention (4 ε/λ)", "holds", "as stated, for one row and all sets"),
        (
            "Extension (λ), M = 2, 3, 4", "**broken**",
            f"ε = 0 up to rounding, errors {errors} of the range; ε must be that of every object's "
            "value, and M ≥ 3",
        ),
        (
            "Counter-example", "holds",
            "that it does not depend on the order of objects needs values that differ",
        ),
    ]  # fmt: skip
    return "## Verdicts\n\n" + markdown_table(("statement", "verdict", "note"), lines)


def _exact(numbers: Numbers, folder: str) -> str:
    growth = [row for row in numbers["growth"] if "paper" in row]
    trained = growth[0]["objects"]
    header = ("objects", "Theorem 1", "our proof, same δ", "δ everywhere", "worst case", "typical")
    lines = [
        (
            row["objects"], f"{row['paper']:.3f}", f"{row['own']:.3f}", f"{row['sharper']:.4f}",
            f"{row['worst']:.4f}", f"{row['typical']:.4f}",
        )
        for row in growth
    ]  # fmt: skip
    tight = [
        (
            row["trained"], row["objects"], f"{row['paper']:.0f}",
            "–" if row["own"] is None else f"{row['own']:.1f}", f"{row['sharper']:.1f}",
            f"{row['found']:.2f}",
        )
        for row in numbers["tightness"]
    ]  # fmt: skip
    columns = ("M", "objects", "Theorem 1", "our proof, same δ", "δ everywhere", "found")
    return (
        f"## Bound against error\n\n![bounds and errors over objects]({folder}/growth.png)\n\n"
        f"Two Q-functions over eight states, trained with up to M = {trained}, δ = 0.01; all sets "
        "are enumerated. Gray: beyond the range N < 2M of the paper. Errors are relative to the "
        f"range of values.\n\n{markdown_table(header, lines)}\n"
        f"## Tightness\n\n![tightness]({folder}/tightness.png)\n\n"
        f"Error per δ with 2M − 1 objects:\n\n{markdown_table(columns, tight)}\n"
        "With δ everywhere the bound is attained for M = 2 and 3. The bound of Theorem 1 is 5 to "
        "15 times the largest error that was found, by a search among objects that attend alike; "
        "for M = 2 and objects that do not, error per δ is unbounded (below). A bound "
        "above 1 says nothing, so with M = 3 "
        f"and 4 objects Theorem 1 is empty from δ = {1 / bounds.paper_bound(0, 1, 4, 1):.3f} on.\n"
    )


def _broken(numbers: Numbers, folder: str) -> str:
    weak = numbers["theorem_1_instance"]
    lines = [
        (
            row["trained"], row["trained"] + 1, f"{row['epsilon']:.1e}", f"{row['delta']:.2f}",
            f"{row['separation']:.2f}", f"{row['extension']:.1e}", f"{row['error']:.4f}",
        )
        for row in numbers["extension"]
    ]  # fmt: skip
    header = ("M", "objects", "ε", "δ", "λ", "bound", "error")
    return (
        f"## What breaks\n\n![what breaks]({folder}/broken.png)\n\n"
        "From left to right:\n\n"
        "- **Theorem 1 with M = 2.** Objects hardly attend to themselves. With two objects, each "
        "attends to the other, whatever was learned; with three, the learned attention decides. "
        f"At attention {1e-6:.0e} to oneself: ε = {weak['epsilon']:.1e}, δ = {weak['delta']:.1e}, "
        f"bound {weak['theorem_1']:.1e}, error {weak['error']:.3f}; δ on all sets is "
        f"{weak['delta_everywhere']:.2f}. The search of the property tests found this.\n"
        "- **The extension.** Learned and optimal values agree exactly on all sets of up to M "
        "objects, because only their mean over objects is compared; with M + 1 they differ. It "
        "would need the error of every object's value.\n"
        "- **The paper's counter-example**: attention that adds up the two smallest values alone.\n"
        "- **Attention that may be negative**: sums of weights can vanish with three objects and "
        "not with two. Theorem 1 rules this out.\n\n"
        f"Extension, relative to the range of values:\n\n{markdown_table(header, lines)}"
    )


def _toy(rows: list[dict[str, Any]], folder: str) -> str:
    lines = []
    for row in rows:
        trained, top = row["trained"], row["top"]
        errors = {int(count): error for count, error in row["errors"].items()}
        theorem = bounds.paper_bound(row["epsilon"], row["delta"], trained + 1, top)
        lines.append(
            (
                trained, "each object" if row["per_object"] else "mean only",
                f"{row['epsilon']:.2f}", f"{row['object_epsilon']:.2f}", f"{row['delta']:.2f}",
                f"{errors[trained + 1]:.2f}", f"{errors[9]:.2f}", f"{theorem:.1f}",
            )
        )  # fmt: skip
    header = (
        "M", "value learned from", "ε", "ε of objects", "δ", "error, M + 1", "error, 9 objects",
        "Theorem 1, M + 1",
    )  # fmt: skip
    return (
        f"## Critics of the exact form\n\n![toy critics]({folder}/toy.png)\n\n"
        "A toy MDP with optimal values of the form of Assumption 1 "
        "(`src/jostle/theory/turntable.py`). Critics of the same form, with MLPs for attention and "
        f"values, learn by Q-learning, {rows[0]['updates']} updates, one seed. Values lie in [0, "
        f"{rows[0]['top']:.0f}]. Errors are the largest over sampled sets and all actions.\n\n"
        f"{markdown_table(header, lines)}\n"
        "Learned from the mean alone, attention is not determined by sets of up to M: δ is large, "
        "as the counterexamples to the extension predict. Learned from the reward of each object, "
        "it is.\n"
    )


def _critics(numbers: Numbers, folder: str) -> str:
    trained, top = numbers["trained"], 1 / (1 - numbers["gamma"])
    lines = []
    for name, rows in numbers["errors"].items():
        for row in rows:
            count = row["objects"]
            place = "training" if count <= trained else "theorem"
            place = "beyond" if count >= 2 * trained else place
            of_objects = "–" if row["object_95"] is None else f"{row['object_95']:.2f}"
            lines.append(
                (
                    name, count, place, f"{row['error_95']:.2f}", f"{row['largest']:.2f}",
                    f"{row['bias']:+.2f}", of_objects, f"{row['returns_std']:.2f}",
                    f"{row['at_goal']:.2f}",
                )
            )  # fmt: skip
    header = (
        "critics", "cubes", "range", "95 % of errors", "largest", "bias", "95 %, objects",
        "std of returns", "cubes at goals",
    )  # fmt: skip
    return (
        f"## Our own critics\n\n![errors of critics]({folder}/critics.png)\n\n"
        f"Monte-Carlo returns of the policy of `{numbers['agent']}` stand in for Q*, at states "
        f"that it visits ({numbers['episodes']} episodes per number of cubes). Rewards are cut at "
        f"−2 and shifted to [0, 1], so values lie in [0, {top:.0f}]. The critics of the zoo were "
        "trained by TD3; the two others, values per entity and pooled (the paper's form), were "
        f"fitted to returns of the same policy with 1 to {trained} cubes: "
        f"{numbers['fit_episodes']} other episodes each, "
        f"{numbers['fit_updates']} updates, one seed.\n\n"
        f"{markdown_table(header, lines)}\n{_answer(numbers)}"
    )


def _answer(numbers: Numbers) -> str:
    """Whether the theorem says anything about these critics."""
    trained, top = numbers["trained"], 1 / (1 - numbers["gamma"])
    sentences = []
    for name, rows in numbers["errors"].items():
        by_count = {row["objects"]: row for row in rows}
        within = [by_count[count] for count in range(1, trained + 1)]
        later = [row for row in rows if trained < row["objects"] < 2 * trained]
        eps, eps_95 = (max(row[key] for row in within) for key in ("largest", "error_95"))
        sentences.append(
            f"- {name}: ε = {eps:.2f} (95 %: {eps_95:.2f}), so 3 ε alone is {3 * eps:.1f} of "
            f"{top:.0f}; with {trained + 1} to {2 * trained - 1} cubes the largest error is "
            f"{max(row['largest'] for row in later):.2f} (95 %: "
            f"{max(row['error_95'] for row in later):.2f})."
        )
    return (
        "δ is not defined for the EIT: its critics are no single attention-weighted average. "
        "Values per entity share the outer form of Assumption 1, the mean over objects, not the "
        "inner one; pooled values share neither.\n\n"
        + "\n".join(sentences)
        + "\n\n**Does the theorem say anything about real agents?** No. Its δ does not exist for "
        "them, its ε is a largest error over all states, and with the ε that can be measured the "
        "first term alone is a large part of the range. How errors change beyond training is an "
        "observation about these critics, not a consequence of the theorem. Between values per "
        "entity and pooled values fitted to the same returns, this short training shows no clear "
        "difference beyond training.\n"
    )
