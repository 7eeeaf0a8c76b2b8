import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Field, Message } from "@xfn/protobuf";
import { CHECKOUT } from "./paths.ts";

/** Parts of google.protobuf.DescriptorProto and FieldDescriptorProto, in JSON. */
interface Descriptor {
  readonly name: string;
  readonly field?: readonly FieldDescriptor[];
  readonly nestedType?: readonly Descriptor[];
  readonly options?: { readonly mapEntry?: boolean };
}

interface FieldDescriptor {
  readonly name: string;
  readonly jsonName: string;
  readonly number: number;
  readonly label: string;
  readonly type: string;
  readonly typeName?: string;
  readonly oneofIndex?: number;
}

/** The fields of a message: by name, their number and type. */
type Declared = Readonly<Record<string, string>>;

/** The messages of a file below `proto/`, by name, as `buf` reads them. */
export function messagesOfProto(file: string): Readonly<Record<string, Declared>> {
  const cache = mkdtempSync(join(tmpdir(), "xfn-proto-"));
  try {
    const args = ["build", "proto", "--path", `proto/${file}`, "--as-file-descriptor-set", "--output", "-#format=json"];
    const env = { ...process.env, BUF_CACHE_DIR: cache };
    const json = execFileSync("node_modules/.bin/buf", args, { cwd: CHECKOUT, env, encoding: "utf8" });
    const { file: files } = JSON.parse(json) as { file: { name: string; messageType?: Descriptor[] }[] };
    const messages = files.find(({ name }) => name === file)?.messageType ?? [];
    return Object.fromEntries(messages.map((message) => [message.name, fieldsOf(message)]));
  } finally {
    rmSync(cache, { recursive: true });
  }
}

/** The fields of tables, in the form of {@link messagesOfProto}. */
export function messagesOfTables(
  tables: readonly Pick<Message<object>, "type" | "fields">[],
): Readonly<Record<string, Declared>> {
  return Object.fromEntries(
    tables.map(({ type, fields }) => {
      const entries = Object.entries(fields as Readonly<Record<string, Field<unknown>>>);
      return [type, Object.fromEntries(entries.map(([name, field]) => [name, `${field.number} ${field.type}`]))];
    }),
  );
}

function fieldsOf({ field = [], nestedType = [] }: Descriptor): Declared {
  return Object.fromEntries(field.map((one) => [one.jsonName, `${one.number} ${typeOf(one, nestedType)}`]));
}

function typeOf(field: FieldDescriptor, nested: readonly Descriptor[]): string {
  const name = field.typeName?.split(".").at(-1) ?? field.type.replace("TYPE_", "").toLowerCase();
  if (field.label === "LABEL_REPEATED") {
    const entry = nested.find((one) => one.name === name && one.options?.mapEntry === true);
    const [, value] = entry?.field ?? [];
    return value === undefined
      ? `repeated ${name}`
      : `map<string, ${typeOf({ ...value, label: "" }, []).replace("optional ", "")}>`;
  }
  return field.type === "TYPE_MESSAGE" || field.oneofIndex !== undefined ? `optional ${name}` : name;
}
