import type { PageElement } from "./dom.ts";
import type { PageEntry, PageField } from "./page-data.ts";
import type { PageElements } from "./page-elements.ts";
import type { StepPanel } from "./step-panel.ts";

/**
 * Shows the desired state as trees of fields, and which step set the field that the person chooses.
 *
 * The source of this class goes into the page (see trace-html.ts), so its code refers to nothing outside itself.
 */
export class FieldPanel {
  readonly #elements: PageElements;
  readonly #steps: StepPanel;
  readonly #entries: readonly PageEntry[];
  #chosen: PageElement | undefined;

  constructor(elements: PageElements, steps: StepPanel, entries: readonly PageEntry[]) {
    this.#elements = elements;
    this.#steps = steps;
    this.#entries = entries;
  }

  start(): void {
    const tree = this.#elements.byId("fields");
    this.#elements.moveWithArrows(tree, "summary, button.field", "ArrowDown", "ArrowUp");
    const search = this.#elements.byId("search");
    search.addEventListener("input", () => this.#show(search.value));
    search.addEventListener("keydown", (event) => {
      const [first] = event.key === "Enter" ? tree.querySelectorAll("button.field") : [];
      first?.click();
    });
    const identity = this.#elements.byId("identity");
    identity.addEventListener("change", () => this.#show(search.value));
    this.#show("");
    this.#steps.onField = (title, field) => this.#find(title, field);
    this.#openAddress();
  }

  /** Chooses the field that the address names. */
  #openAddress(): void {
    let named: unknown;
    try {
      named = JSON.parse(decodeURIComponent(this.#elements.hash));
    } catch {
      // Another address, or none.
    }
    if (Array.isArray(named)) this.#find(String(named[0]), String(named[1]));
  }

  #find(title: string, path: string): void {
    const entry = this.#entries.find((one) => one.title === title);
    const field = entry?.fields.find((one) => one.field === path);
    if (entry !== undefined && field !== undefined) this.#choose(entry, field, undefined);
    // A later step can have removed the field.
    else this.#elements.byId("answer").replaceChildren(`${path} of ${title} is no longer desired after the last step.`);
  }

  /** Shows the fields that have each word of the query in their entry, path or value. */
  #show(query: string): void {
    const words = query
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    const isMatch = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
    const showsIdentity = this.#elements.byId("identity").checked;
    let found = 0;
    const trees = this.#entries.flatMap((entry) => {
      const shown = entry.fields.filter((field) => showsIdentity || !field.isIdentity);
      const fields = shown.filter((field) => isMatch(`${entry.title} ${field.field} ${field.value}`));
      if (fields.length === 0 && !(entry.fields.length === 0 && isMatch(entry.title))) return [];
      const isOpen =
        found < this.#elements.maxLines && (words.length > 0 || this.#entries.length <= this.#elements.maxOpen);
      found += fields.length;
      return [this.#tree(entry, fields, isOpen)];
    });
    this.#elements.byId("fields").replaceChildren(...trees);
    const noun = found === 1 ? "field" : "fields";
    this.#elements.byId("found").textContent = trees.length === 0 ? "No such field is desired." : `${found} ${noun}`;
  }

  #tree(entry: PageEntry, fields: readonly PageField[], isOpen: boolean): PageElement {
    const elements = this.#elements;
    const note = entry.note === "" ? "" : `${entry.note}, says ${this.#steps.nameOf(entry.stepIndex)}`;
    const summary = elements.make("summary", "", `${entry.title} `, elements.span("note", note));
    const list = elements.make("ul", "tree");
    const details = elements.make("details", "entry", summary, list);
    details.open = isOpen;
    elements.fillWhenOpen(details, () =>
      elements.appendLines(list, this.#lines(entry, fields), (line) => line, "lines"),
    );
    return details;
  }

  /** An entry's fields as a tree: a line for each field, and one for each object or list that begins. */
  #lines(entry: PageEntry, fields: readonly PageField[]): PageElement[] {
    const lines: PageElement[] = [];
    let above: readonly string[] = [];
    for (const field of fields) {
      const { keys } = field;
      let depth = 0;
      while (depth < keys.length - 1 && keys[depth] === above[depth]) depth++;
      for (; depth < keys.length - 1; depth++)
        lines.push(this.#indented(depth, this.#elements.span("key", `${keys[depth] ?? ""}:`)));
      above = keys;
      lines.push(this.#indented(Math.max(0, keys.length - 1), this.#row(entry, field)));
    }
    return lines;
  }

  #row(entry: PageEntry, field: PageField): PageElement {
    const elements = this.#elements;
    const step = this.#steps.nameOf(field.stepIndex);
    const key = elements.span("key", `${field.keys.at(-1) ?? field.field}: `);
    const row = elements.namedButton(
      "field",
      `${field.field}: ${field.value}, set by ${step}`,
      () => this.#choose(entry, field, row),
      elements.span("body", key, elements.span("value", field.value)),
      elements.span("by", field.by === "" ? step : field.by),
    );
    return row;
  }

  #indented(depth: number, content: PageElement): PageElement {
    return this.#elements.make("li", `depth-${Math.min(depth, 12)}`, content);
  }

  #choose(entry: PageEntry, field: PageField, row: PageElement | undefined): void {
    this.#chosen?.removeAttribute("aria-pressed");
    row?.setAttribute("aria-pressed", "true");
    this.#chosen = row;
    // The address is a link to the field.
    this.#elements.hash = encodeURIComponent(JSON.stringify([entry.title, field.field]));
    this.#steps.markOrigin(field.stepIndex);
    this.#elements.byId("answer").replaceChildren(...this.#answer(entry, field));
  }

  #answer(entry: PageEntry, field: PageField): PageElement[] {
    const elements = this.#elements;
    const openStep = (): void => {
      this.#steps.open(field.stepIndex);
      elements.byId("step").scrollIntoView({ block: "nearest" });
    };
    const step = `step ${field.stepIndex + 1}, ${this.#steps.nameOf(field.stepIndex)}`;
    const button = elements.button("open-step", openStep, "Open step");
    const answer = [
      elements.make("h3", "", elements.span("path", field.field), ` of ${entry.title}`),
      elements.make("p", "value", field.value),
      elements.make("p", "who", "Set by ", elements.make("strong", "", step), " ", button),
    ];
    if (field.origin.length > 0) answer.push(elements.pairs(field.origin));
    if (field.history.length > 0) {
      const steps = field.history.map(({ stepIndex, text }) =>
        elements.make("li", "", `${this.#steps.nameOf(stepIndex)} ${text}`),
      );
      answer.push(elements.make("h4", "", "At this path"), elements.make("ol", "history", ...steps));
    }
    return answer;
  }
}
