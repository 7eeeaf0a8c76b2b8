import type { PageDocument } from "./dom.ts";
import { FieldPanel } from "./field-panel.ts";
import type { PageData } from "./page-data.ts";
import { PageElements } from "./page-elements.ts";
import { StepPanel } from "./step-panel.ts";

interface PageClasses {
  readonly PageElements: typeof PageElements;
  readonly StepPanel: typeof StepPanel;
  readonly FieldPanel: typeof FieldPanel;
}

/**
 * The page's script. Its classes and functions refer to nothing outside themselves, because a bundler may rename such
 * references. They get other classes as values.
 */
export function pageScript(): string {
  const classes = Object.entries({ PageElements, StepPanel, FieldPanel } satisfies PageClasses);
  const sources = classes.map(([name, source]) => `${name}: ${source.toString()}`).join(", ");
  return `(${startPage.toString()})(document, JSON.parse(document.getElementById("data").textContent), { ${sources} });`;
}

function startPage(page: PageDocument, data: PageData, { PageElements, StepPanel, FieldPanel }: PageClasses): void {
  const elements = new PageElements(page);
  elements.byId("title").textContent = data.title;
  const last = data.facts.length - 1;
  const facts = data.facts.map((fact, index) => elements.make("li", index === last ? data.status : "", fact));
  elements.byId("facts").append(...facts);
  const steps = new StepPanel(elements, data.steps);
  const fields = new FieldPanel(elements, steps, data.entries);
  fields.start();
  steps.start();
}
