import type { PageDocument, PageElement } from "./dom.ts";

/**
 * Makes the elements of the page. Text from the trace becomes text nodes, never HTML.
 *
 * The source of this class goes into the page (see trace-html.ts), so its code refers to nothing outside itself.
 */
export class PageElements {
  /** Longer lists get a button for the rest: a person reads no more, and a browser is slow with more. */
  readonly maxLines = 400;
  /** More entries than this start closed. */
  readonly maxOpen = 10;
  readonly #page: PageDocument;

  constructor(page: PageDocument) {
    this.#page = page;
  }

  byId(id: string): PageElement {
    const element = this.#page.getElementById(id);
    if (element === null) throw new Error(`no #${id}`);
    return element;
  }

  make(tag: string, className: string, ...children: (PageElement | string)[]): PageElement {
    const element = this.#page.createElement(tag);
    if (className !== "") element.className = className;
    element.append(...children);
    return element;
  }

  span(className: string, ...children: (PageElement | string)[]): PageElement {
    return this.make("span", className, ...children);
  }

  button(className: string, onClick: () => void, ...children: (PageElement | string)[]): PageElement {
    const element = this.make("button", className, ...children);
    element.setAttribute("type", "button");
    element.addEventListener("click", onClick);
    return element;
  }

  /** A button with visible parts, and with a name for screen readers. */
  namedButton(className: string, name: string, onClick: () => void, ...parts: PageElement[]): PageElement {
    for (const part of parts) part.setAttribute("aria-hidden", "true");
    // The name is content, not a label: a label must repeat the text that others see.
    return this.button(className, onClick, this.span("spoken", name), ...parts);
  }

  /** The part of the address after `#`, which chooses a field. */
  get hash(): string {
    return this.#page.location.hash.slice(1);
  }

  set hash(text: string) {
    this.#page.location.hash = text;
  }

  /** Lines are made when the entry opens: there may be tens of thousands. */
  fillWhenOpen(details: PageElement, fill: () => void): void {
    let isFilled = false;
    const check = (): void => {
      if (isFilled || !details.open) return;
      isFilled = true;
      fill();
    };
    details.addEventListener("toggle", check);
    check();
  }

  /** A list of names with their values. */
  pairs(rows: readonly (readonly [string, string])[]): PageElement {
    const list = this.make("dl", "");
    for (const [name, value] of rows)
      list.append(this.make("div", "", this.make("dt", "", name), this.make("dd", "", value)));
    return list;
  }

  /** Appends a line for each of the first items, and a button that appends the rest. */
  appendLines<T>(list: PageElement, items: readonly T[], line: (item: T) => PageElement, noun: string): void {
    list.append(...items.slice(0, this.maxLines).map(line));
    const more = items.slice(this.maxLines);
    if (more.length === 0) return;
    const rest = this.make("li", "");
    const showAll = (): void => {
      rest.hidden = true;
      list.append(...more.map(line));
    };
    rest.append(this.button("more", showAll, `Show ${more.length} more ${noun}`));
    list.append(rest);
  }

  /** Moves the focus between the elements that the selector matches. */
  moveWithArrows(within: PageElement, selector: string, forward: string, back: string): void {
    within.addEventListener("keydown", (event) => {
      if (event.key !== forward && event.key !== back) return;
      const all = [...within.querySelectorAll(selector)];
      const now = all.findIndex((element) => element === this.#page.activeElement);
      const next = all[now + (event.key === forward ? 1 : -1)];
      if (now === -1 || next === undefined) return;
      event.preventDefault();
      next.focus();
    });
  }
}
