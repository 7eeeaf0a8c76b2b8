import { setTimeout as sleep } from "node:timers/promises";
import { checkSchema, compileSchema, type Schema, SchemaError, type SchemaIssue } from "@xfn/composition/schema";
import type { JsonObject, JsonValue } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { type Case, placed } from "./cases.ts";
import { type Cause, causesOf, type Server } from "./server.ts";

/** A disagreement of xfn with an API server. */
export interface Disagreement {
  readonly kind: "accepts" | "refuses" | "issues" | "stores";
  readonly rule: string;
  readonly schema: JsonObject;
  readonly value?: JsonValue;
  readonly ours: string;
  readonly theirs: string;
}

const GROUP = "fuzz.example.org";
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** After one of these, the server runs no rules. */
const BLOCKING: ReadonlySet<string> = new Set(["Required", "Type", "Format", "TooLong", "TooMany"]);

/** Our problem of a rule at which the server panics. It would close the connection without an answer for the batch. */
const PANIC = "an optional element has the type 'dyn'";

/** Compares batches of cases with an API server, each batch as the properties of one CRD. */
export class Comparison {
  readonly #server: Server;
  #batch = 0;
  readonly disagreements: Disagreement[] = [];
  /** The numbers of comparisons. */
  readonly counts = { rules: 0, refused: 0, objects: 0, invalid: 0 };

  constructor(server: Server) {
    this.#server = server;
  }

  async run(cases: readonly Case[]): Promise<void> {
    this.counts.rules += cases.length;
    const accepted = await this.#compareSchemas(cases);
    if (accepted.length > 0) await this.#compareObjects(accepted);
  }

  /** Compares which cases are refused. Returns those that both accept. */
  async #compareSchemas(cases: readonly Case[]): Promise<Case[]> {
    const ours = new Map(cases.map((one) => [one, problemOf(one.schema)]));
    const panics = cases.filter((one) => ours.get(one)?.includes(PANIC) === true);
    const theirs = new Map(panics.map((one) => [one, "panic"]));
    let open = cases.filter((one) => !theirs.has(one));
    // Problems of one kind hide others: the server estimates no costs while a default is invalid.
    for (let round = 0; round < 6; round++) {
      const answer = await this.#server.send("POST", `${CRDS}?dryRun=All`, this.#crd("Probe", open));
      if (answer.status === 201) break;
      const before = theirs.size;
      for (const { field, message } of causesOf(answer)) {
        const index = /openAPIV3Schema\.properties\[p(\d+)\]/.exec(field)?.[1];
        const found = index === undefined ? undefined : open[Number(index)];
        if (found !== undefined && !message.includes("contributed to estimated rule cost total"))
          theirs.set(found, message);
      }
      if (theirs.size === before)
        throw new Error(`the server refused a batch: ${printJson(answer.body).slice(0, 2000)}`);
      open = cases.filter((one) => !theirs.has(one));
    }
    for (const one of cases) {
      const [mine, other] = [ours.get(one), theirs.get(one)];
      if (mine !== undefined || other !== undefined) this.counts.refused++;
      if ((mine === undefined) === (other === undefined)) continue;
      this.disagreements.push({
        kind: mine === undefined ? "accepts" : "refuses",
        rule: one.rule,
        schema: one.schema,
        ours: mine ?? "accepted",
        theirs: other ?? "accepted",
      });
    }
    return cases.filter((one) => ours.get(one) === undefined && !theirs.has(one));
  }

  async #compareObjects(cases: readonly Case[]): Promise<void> {
    const kind = `Batch${this.#batch++}`;
    const plural = kind.toLowerCase();
    const crd = this.#crd(kind, cases);
    const created = await this.#server.send("POST", CRDS, crd);
    if (created.status !== 201) throw new Error(`cannot create a CRD: ${printJson(created.body).slice(0, 2000)}`);
    const path = `/apis/${GROUP}/v1/${plural}`;
    await this.#served(path);
    const schemas = cases.map(({ schema }) => compileSchema(objectOf({ p: schema })));
    const most = Math.max(...cases.map(({ values }) => values.length));
    for (let at = 0; at < most; at++) await this.#compareObject(kind, path, cases, schemas, at);
    await this.#compareUpdate(kind, path, cases, schemas);
    await this.#server.send("DELETE", `${CRDS}/${plural}.${GROUP}`);
  }

  async #served(path: string): Promise<void> {
    for (let attempt = 0; attempt < 600; attempt++) {
      const { status } = await this.#server.send("GET", `${path}?limit=1`);
      if (status === 200) return;
      await sleep(50);
    }
    throw new Error(`${path} is not served`);
  }

  async #compareObject(
    kind: string,
    path: string,
    cases: readonly Case[],
    schemas: readonly Schema[],
    at: number,
  ): Promise<void> {
    const blocks = (index: number): boolean => this.#blocks(cases[index] as Case, schemas[index] as Schema, at);
    for (const blocking of [false, true]) {
      const object = this.#object(kind, "a", cases, at, (index) => blocks(index) === blocking);
      const answer = await this.#server.send("POST", `${path}?dryRun=All`, object);
      this.#compareAnswer(cases, schemas, object, undefined, answer.status === 201 ? answer.body : causesOf(answer));
    }
  }

  /** Whether a value keeps the server from running any rule of the object. */
  #blocks({ schema: own, values }: Case, schema: Schema, at: number): boolean {
    const value = values[at];
    if (value === undefined) return false;
    return issuesOf(schema, { p: placed(own, value) }).some(
      ({ reason, rule }) => rule === undefined && BLOCKING.has(reason),
    );
  }

  /** Compares an update, in which rules with `oldSelf` run. Only values that the server accepts can be updated. */
  async #compareUpdate(kind: string, path: string, cases: readonly Case[], schemas: readonly Schema[]): Promise<void> {
    const values: JsonObject = {};
    for (const [index, one] of cases.entries()) {
      const schema = schemas[index] as Schema;
      const fits = one.values.find((value) => issuesOf(schema, { p: placed(one.schema, value) }).length === 0);
      if (fits !== undefined) values[`p${index}`] = placed(one.schema, fits);
    }
    const first = { ...this.#object(kind, "b", [], 0), ...values };
    const created = await this.#server.send("POST", path, first);
    if (created.status !== 201) return;
    for (let at = 0; at < 2; at++) {
      const runs = (index: number): boolean => !this.#blocks(cases[index] as Case, schemas[index] as Schema, at);
      const next = { ...this.#object(kind, "b", cases, at, runs), metadata: created.body["metadata"] ?? null };
      const answer = await this.#server.send("PUT", `${path}/b?dryRun=All`, next);
      this.#compareAnswer(cases, schemas, next, first, answer.status === 200 ? answer.body : causesOf(answer));
    }
  }

  #compareAnswer(
    cases: readonly Case[],
    schemas: readonly Schema[],
    object: JsonObject,
    old: JsonObject | undefined,
    answer: JsonObject | Cause[],
  ): void {
    for (const [index, one] of cases.entries()) {
      const name = `p${index}`;
      const value = object[name];
      const before = old?.[name];
      this.counts.objects++;
      const schema = schemas[index] as Schema;
      const given = value === undefined ? {} : { p: value };
      const stored = schema.default(schema.prune(given).value) as JsonObject;
      const previous = before === undefined ? undefined : schema.default(schema.prune({ p: before }).value);
      const ours = schema
        .validate(stored, old === undefined ? undefined : (previous ?? {}))
        .map((issue) => describeOurs(issue, name));
      if (ours.length > 0) this.counts.invalid++;
      const theirs = Array.isArray(answer)
        ? answer.filter(({ field }) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`))
        : [];
      const report = (kind: Disagreement["kind"], mine: string, other: string): void => {
        this.disagreements.push({
          kind,
          rule: one.rule,
          schema: one.schema,
          value: old === undefined ? (value ?? null) : [before ?? null, value ?? null],
          ours: mine,
          theirs: other,
        });
      };
      if (!sameIssues(ours, theirs.map(describeTheirs))) {
        report("issues", ours.map(printed).join("\n"), theirs.map(describeTheirs).map(printed).join("\n"));
      }
      if (Array.isArray(answer)) continue;
      const [mine, other] = [stored["p"] ?? null, answer[name] ?? null].map(canonical);
      if (mine !== other) report("stores", mine ?? "", other ?? "");
    }
  }

  #object(
    kind: string,
    name: string,
    cases: readonly Case[],
    at: number,
    has: (index: number) => boolean = () => true,
  ): JsonObject {
    const object: JsonObject = { apiVersion: `${GROUP}/v1`, kind, metadata: { name } };
    for (const [index, { schema, values }] of cases.entries()) {
      const value = values[at];
      if (value !== undefined && has(index)) object[`p${index}`] = placed(schema, value);
    }
    return object;
  }

  #crd(kind: string, cases: readonly Case[]): JsonObject {
    const properties: JsonObject = {};
    for (const [index, { schema }] of cases.entries()) properties[`p${index}`] = schema;
    const plural = kind.toLowerCase();
    return {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${GROUP}` },
      spec: {
        group: GROUP,
        scope: "Cluster",
        names: { kind, plural, singular: plural, listKind: `${kind}List` },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: objectOf(properties) } }],
      },
    };
  }
}

function objectOf(properties: JsonObject): JsonObject {
  return { type: "object", properties };
}

/** Why we refuse a schema. Undefined if we accept it. */
function problemOf(schema: JsonObject): string | undefined {
  try {
    checkSchema(objectOf({ p: schema }));
    return undefined;
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    return error.issues.map(({ path, message }) => `${path}: ${message}`).join("\n");
  }
}

function issuesOf(schema: Schema, given: JsonObject): SchemaIssue[] {
  return schema.validate(schema.default(schema.prune(given).value));
}

// Reasons of causes that have another name here.
const REASONS: Readonly<Record<string, string>> = {
  FieldValueRequired: "Required",
  FieldValueDuplicate: "Duplicate",
  FieldValueForbidden: "Forbidden",
  FieldValueNotSupported: "Unsupported",
  FieldValueTooLong: "TooLong",
  FieldValueTooMany: "TooMany",
  FieldValueInvalid: "Invalid",
  FieldValueTypeInvalid: "Invalid",
};

/** A failure: where, its kind, and the message. */
interface Described {
  readonly key: string;
  readonly message: string;
}

function describeOurs({ path, reason, message, rule }: SchemaIssue, name: string): Described {
  const kind = reason === "Type" || reason === "Format" ? "Invalid" : reason;
  // Errors of evaluation quote values, and other failures have their tests. A duplicate value has no message.
  const isMessage = rule !== undefined && reason !== "Duplicate" && !message.includes(" evaluating rule: ");
  return { key: `${name}${path.slice(1)} ${kind}`, message: isMessage ? message : "" };
}

function describeTheirs({ field, reason, message }: Cause): Described {
  return { key: `${field} ${REASONS[reason] ?? reason}`, message };
}

/** Whether the failures are the same, and the server's messages contain ours. */
function sameIssues(ours: readonly Described[], theirs: readonly Described[]): boolean {
  const [mine, other] = [ours, theirs].map((list) => list.toSorted((a, b) => (printed(a) < printed(b) ? -1 : 1)));
  if (mine === undefined || other === undefined || mine.length !== other.length) return false;
  const rest = [...other];
  return mine.every(({ key, message }) => {
    const found = rest.findIndex((one) => one.key === key && one.message.includes(message));
    if (found < 0) return false;
    rest.splice(found, 1);
    return true;
  });
}

function printed({ key, message }: Described): string {
  return `${key}: ${message}`;
}

function canonical(value: JsonValue): string {
  return JSON.stringify(sorted(value), (_, one: unknown) => (typeof one === "bigint" ? Number(one) : one));
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key] ?? null)]),
  );
}
