import { codesOf } from "./codes.ts";

/** The files that declare the types of reasons. */
const FILES: Readonly<Record<string, string>> = {
  SelectionErrorCode: "controller/src/revision/selection-error.ts",
  PipelineErrorCode: "pipeline/src/outcome/pipeline-error.ts",
  CompositeErrorCode: "controller/src/objects/composite-error.ts",
  ClaimErrorCode: "controller/src/claim/claim-error.ts",
  UsageErrorCode: "controller/src/usage/usage-error.ts",
};

/** Fills the lists of the page between `<!-- generated: TYPE -->` and `<!-- end -->`. Its other text stays. */
export function conditionsPage(page: string): string {
  return page.replaceAll(/<!-- generated: (\w+) -->\n.*?<!-- end -->/gs, (_, type: string) => {
    const file = FILES[type];
    if (file === undefined) throw new Error(`docs/reference/conditions.md: no file is known for ${type}`);
    const lines = codesOf(file, type).map(({ code, text }) => `- \`${code}\`: ${text}\n`);
    return `<!-- generated: ${type} -->\n\n${lines.join("")}\n<!-- end -->`;
  });
}
