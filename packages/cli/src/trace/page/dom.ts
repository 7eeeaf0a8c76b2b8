// The part of the browser's DOM that the page's script uses. TypeScript's DOM types would declare
// `name`, `event` and hundreds of other globals for the whole program, which runs in Node without them.

export interface PageElement {
  textContent: string | null;
  className: string;
  hidden: boolean;
  open: boolean;
  checked: boolean;
  value: string;
  readonly style: { width: string };
  append(...children: (PageElement | string)[]): void;
  replaceChildren(...children: (PageElement | string)[]): void;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  addEventListener(type: string, listener: (event: PageEvent) => void): void;
  querySelectorAll(selector: string): Iterable<PageElement>;
  focus(): void;
  click(): void;
  scrollIntoView(options: { block: "nearest" }): void;
}

/** An event, of the keyboard for example. */
export interface PageEvent {
  readonly key?: string;
  preventDefault(): void;
}

export interface PageDocument {
  readonly activeElement: PageElement | null;
  readonly location: { hash: string };
  createElement(tag: string): PageElement;
  getElementById(id: string): PageElement | null;
}
