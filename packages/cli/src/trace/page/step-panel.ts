import type { PageElement } from "./dom.ts";
import type { PageChange, PageStep } from "./page-data.ts";
import type { PageElements } from "./page-elements.ts";

/**
 * Shows the pipeline as a row of cards, and the step of one card in full.
 *
 * The source of this class goes into the page (see trace-html.ts), so its code refers to nothing outside itself.
 */
export class StepPanel {
  readonly #signs: Readonly<Record<string, string>> = { added: "+", changed: "~", removed: "-", deleted: "x" };
  /** Called with the entry and the path of a field that the person chooses among the changes. */
  onField: (title: string, field: string) => void = () => undefined;
  readonly #elements: PageElements;
  readonly #steps: readonly PageStep[];
  readonly #cards: readonly PageElement[];

  constructor(elements: PageElements, steps: readonly PageStep[]) {
    this.#elements = elements;
    this.#steps = steps;
    this.#cards = steps.map((step, index) => this.#card(step, index));
  }

  start(): void {
    const elements = this.#elements;
    const steps = elements.byId("steps");
    steps.append(...this.#cards.map((card) => elements.make("li", "", card)));
    elements.moveWithArrows(steps, "button", "ArrowRight", "ArrowLeft");
    const ended = this.#steps.findIndex(({ status }) => status === "Fatal" || status === "Failed");
    this.open(Math.max(0, ended));
  }

  nameOf(index: number): string {
    return this.#steps[index]?.name ?? "";
  }

  /** Shows a step in full. */
  open(index: number): void {
    for (const [other, card] of this.#cards.entries()) {
      if (other === index) card.setAttribute("aria-current", "step");
      else card.removeAttribute("aria-current");
    }
    const step = this.#steps[index];
    if (step !== undefined) this.#elements.byId("step").replaceChildren(...this.#detail(step, index));
  }

  /** Marks the card of the step that set the chosen field. */
  markOrigin(stepIndex: number): void {
    for (const [index, card] of this.#cards.entries())
      card.className = index === stepIndex ? "step origin-of-field" : "step";
  }

  #card(step: PageStep, index: number): PageElement {
    const elements = this.#elements;
    const { added, changed, removed } = step.counts;
    const number = elements.span("number", String(index + 1));
    const status = elements.span(`status ${step.status}`, step.statusText);
    const did =
      step.status === "NotRun" ? "" : `, ${step.time}, ${added} added, ${changed} changed, ${removed} removed`;
    return elements.namedButton(
      "step",
      `Step ${index + 1}, ${step.name}: ${step.statusText}${did}`,
      () => this.open(index),
      elements.span("step-head", number, elements.span("step-name", step.name)),
      elements.span("step-line", status, elements.span("time", step.time)),
      this.#bar(step),
      elements.span("step-line", this.#counts(step)),
      elements.span("origin-mark", "set this field"),
    );
  }

  #bar(step: PageStep): PageElement {
    const bar = this.#elements.span("bar");
    for (const { phase, percent } of step.bar) {
      const segment = this.#elements.span(`segment ${phase}`);
      segment.style.width = `${percent}%`;
      bar.append(segment);
    }
    return bar;
  }

  #counts({ counts: { added, changed, removed } }: PageStep): PageElement {
    const elements = this.#elements;
    const parts = [
      { className: "added", sign: "+", number: added },
      { className: "changed", sign: "~", number: changed },
      { className: "removed", sign: "-", number: removed },
    ].filter(({ number }) => number > 0);
    return elements.span(
      "counts",
      ...parts.flatMap(({ className, sign, number }) => [elements.span(className, `${sign}${number}`), " "]),
    );
  }

  #detail(step: PageStep, index: number): PageElement[] {
    const elements = this.#elements;
    const what = step.kind === "templates" ? "Patch and transform: the Composition's templates" : step.image;
    const title = [elements.make("h2", "", `Step ${index + 1}: ${step.name}`), elements.make("p", "image", what)];
    if (step.status === "NotRun")
      return [...title, elements.make("p", "", "This step did not run: the run ended before it.")];
    const error =
      step.error === "" ? [] : [elements.make("p", "result Fatal", elements.make("strong", "", "failed "), step.error)];
    return [
      ...title,
      elements.pairs(step.measures),
      ...error,
      ...this.#results(step),
      ...this.#stderr(step),
      ...this.#changes(step),
    ];
  }

  #results({ results }: PageStep): PageElement[] {
    if (results.length === 0) return [];
    const elements = this.#elements;
    const list = elements.make("ul", "results");
    const line = ({ severity, message }: PageStep["results"][number]): PageElement =>
      elements.make("li", `result ${severity}`, elements.make("strong", "", `${severity} `), message);
    elements.appendLines(list, results, line, "results");
    return [elements.make("h3", "", "Results"), list];
  }

  #stderr({ stderr }: PageStep): PageElement[] {
    if (stderr === "") return [];
    const elements = this.#elements;
    return [elements.make("h3", "", "Function\u2019s stderr"), elements.make("pre", "stderr", stderr)];
  }

  #changes(step: PageStep): PageElement[] {
    const elements = this.#elements;
    const heading = elements.make("h3", "", "Changes");
    if (step.entries.length === 0)
      return [heading, elements.make("p", "", "This step does not change the desired state.")];
    const isShort = step.entries.length <= elements.maxOpen;
    const entries = step.entries.map(({ title, change, fields }) => {
      const sign = elements.span(`sign ${change}`, this.#signs[change] ?? "");
      const summary = elements.make("summary", "", sign, ` ${title} `, elements.span("note", change));
      const list = elements.make("ul", "diff");
      const entry = elements.make("details", "entry", summary, list);
      entry.open = isShort && fields.length <= elements.maxLines && change !== "removed" && change !== "deleted";
      const line = (field: PageChange): PageElement => this.#changeLine(title, field);
      elements.fillWhenOpen(entry, () => elements.appendLines(list, fields, line, "fields"));
      return entry;
    });
    return [heading, ...entries];
  }

  #changeLine(title: string, { op, field, before, after, origin }: PageChange): PageElement {
    const elements = this.#elements;
    const path = elements.button("path", () => this.onField(title, field), field);
    path.setAttribute("aria-label", `Who set ${field} of ${title}?`);
    const body = elements.span("body", path, ": ");
    if (before !== "") body.append(elements.make("del", "value", before));
    if (before !== "" && after !== "") body.append(" → ");
    if (after !== "") body.append(elements.make("ins", "value", after));
    if (origin !== "") body.append(" ", elements.span("origin", `← ${origin}`));
    return elements.make("li", op, elements.span("sign", this.#signs[op] ?? ""), body);
  }
}
