import { execFileSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { readDocuments } from "@xfn/json/document";
import { PROGRAMS } from "./help.ts";

// All kinds: options add CRDs and change none.
const CRDS = [
  "crds",
  "--enable-packages",
  "--enable-function-runtimes",
  "--enable-resource-composition",
  "--enable-usages",
  "--enable-operations",
];

// Deeper fields have pages of their own: `kubectl explain` and docs/reference/composition.md.
const DEPTH = 2;

/** Kinds with a reference of their own. */
const PAGES: Readonly<Record<string, string>> = { Composition: "[Compositions](composition.md)" };

/** The number of common fields from which a list refers to an earlier kind. */
const SHARED = 3;

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly "x-kubernetes-int-or-string"?: boolean;
}

interface Crd {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

/** The controller's own kinds, with the first fields of their specs. */
export function kindsPage(): string {
  const main = join(import.meta.dirname, "../..", PROGRAMS["xfn-controller"]);
  const text = execFileSync(process.execPath, [main, ...CRDS], { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const crds = readDocuments(text).map(({ value }) => value as unknown as Crd);
  const earlier = new Map<string, readonly string[][]>();
  return `# Kinds

The kinds that \`xfn-controller\` installs and serves. The lists have the first fields of each \`spec\`, and \`kubectl explain\` shows all
fields. A \`*\` marks required fields.
${crds.map((crd) => section(crd, earlier)).join("")}`;
}

/** A kind's list. Fields that an earlier kind has too, such as a package's, are named and not described again. */
function section({ spec }: Crd, earlier: Map<string, readonly string[][]>): string {
  const { group, scope, names, versions } = spec;
  const schema = versions[0]?.schema.openAPIV3Schema;
  const rows = fieldsOf(schema?.properties?.["spec"], "", 1);
  const commonWith = (other: readonly string[][]): string[][] => {
    const keys = new Set(other.map(String));
    return rows.filter((row) => keys.has(String(row)));
  };
  const [base = "", known = []] =
    [...earlier].toSorted(([, a], [, b]) => commonWith(b).length - commonWith(a).length)[0] ?? [];
  const common = commonWith(known).length >= SHARED ? commonWith(known) : [];
  if (!earlier.has(names.kind)) earlier.set(names.kind, rows);
  const own = rows.filter((row) => !common.includes(row)).map(([field, type, note]) => `- ${field} (${type})${note}\n`);
  const link = `[${base}](#${base.toLowerCase()})`;
  if (common.length > 0 && common.length === known.length) own.unshift(`- the fields of ${link}\n`);
  else if (common.length > 0) own.unshift(`- ${common.map(([field]) => field).join(", ")}: as of ${link}\n`);
  const short = names.shortNames === undefined ? "" : `, short ${names.shortNames.join(", ")}`;
  const about = schema?.description === undefined ? "" : `${schema.description}\n\n`;
  const page = PAGES[names.kind];
  const fields = page === undefined ? own.join("") : `${page} has its fields.\n`;
  const list = fields === "" ? "" : `\n${fields}`;
  return `
## ${names.kind}

${about}\`${group}\`, ${versions.map(({ name }) => `\`${name}\``).join(", ")}; ${scope}; \`${names.plural}\`${short}
${list}`;
}

function fieldsOf(schema: Schema | undefined, prefix: string, depth: number): string[][] {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const mark = schema?.required?.includes(name) === true ? "*" : "";
    const isParent = depth < DEPTH && field.properties !== undefined;
    if (isParent) return fieldsOf(field, `${path}.`, depth + 1);
    return [[`\`${path}\`${mark}`, `${typeOf(field)}${defaultOf(field)}`, noteOf(name, field)]];
  });
}

function typeOf({ type, items, enum: words, additionalProperties, ...rest }: Schema): string {
  if (words !== undefined) return words.map((word) => `\`${String(word)}\``).join(", ");
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (typeof additionalProperties === "object") return `map of ${typeOf(additionalProperties)}`;
  if (rest["x-kubernetes-int-or-string"] === true) return "integer or string";
  return type ?? "any";
}

/** The description, which begins with the name: the list has that already. */
function noteOf(name: string, { description = "" }: Schema): string {
  return description === "" ? "" : ` ${description.slice(name.length + 1).replaceAll("<", "&lt;")}`;
}

function defaultOf({ default: standard }: Schema): string {
  return standard === undefined ? "" : `, default \`${JSON.stringify(standard)}\``;
}
