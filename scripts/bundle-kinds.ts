// Writes the declarations of @xfn/kinds from the models of Kubernetes' own kinds (npm run models). The same models give
// the same text.
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { builtinModels, type ModelField } from "@xfn/kubernetes/builtin-kinds";

const DIST = new URL("../packages/kinds/dist/", import.meta.url);

const { kinds, models } = await builtinModels();

function typeOf(type: string, values: readonly string[]): string {
  const inner = type.slice(1);
  if (type.startsWith("[")) {
    const item = typeOf(inner, values);
    return item.includes(" | ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
  }
  if (type.startsWith("{")) return `{ [key: string]: ${typeOf(inner, values)} }`;
  if (type === "string" && values.length > 0) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (type === "IntOrString" || type === "Quantity") return "number | string";
  if (type === "integer") return "number";
  return /^[a-z]/.test(type) || models.has(type) ? type : "unknown";
}

function printField({ name, required, type, values }: ModelField): string {
  const property = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
  return `  ${property}${required ? "" : "?"}: ${typeOf(type, values)};`;
}

const identities = new Map(kinds.map((kind) => [kind.model, kind]));

function printModel(model: string, fields: readonly ModelField[]): string {
  const kind = identities.get(model);
  const lines = fields.map((field) => {
    if (kind === undefined) return printField(field);
    if (field.name === "metadata") return '  metadata: import("@xfn/functionio/sdk").ObjectMeta;';
    if (field.name === "apiVersion" || field.name === "kind") return `  ${field.name}: "${kind[field.name]}";`;
    return printField(field);
  });
  return `export interface ${model} {\n${lines.join("\n")}\n}`;
}

const text = `// Made from Kubernetes' official client by scripts/bundle-kinds.ts.
import type {} from "@xfn/functionio/sdk";

declare module "@xfn/functionio/sdk" {
  interface Kinds {
${kinds.map(({ apiVersion, kind, model }) => `    "${apiVersion}/${kind}": ${model};`).join("\n")}
  }
}

${[...models]
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(([model, fields]) => printModel(model, fields))
  .join("\n\n")}
`;

mkdirSync(DIST, { recursive: true });
const draft = new URL("index.d.ts.draft", DIST);
writeFileSync(draft, text);
renameSync(draft, new URL("index.d.ts", DIST));
