import { isObject, type JsonValue } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import type { TraceEntryId, TraceOrigin } from "@xfn/pipeline/trace";

// Formats parts of a trace, for the terminal and for the page.

/** Replaces a secret. */
const HIDDEN = "(hidden)";

/** Strings that YAML would read as another type, or that are unclear without quotes. */
const NEEDS_QUOTES =
  /^$|^\s|\s$|^[-+]?[.\d][\d._]*(e[-+]?\d+)?$|^(true|false|null|yes|no|on|off|~)$|^[[{"'(]|[\n\t\r]/i;

/** A field's value. Strings are quoted only if they are ambiguous. */
export function valueText(value: JsonValue | undefined): string {
  if (value === undefined) return HIDDEN;
  if (typeof value === "string") return NEEDS_QUOTES.test(value) ? JSON.stringify(value) : value;
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (Array.isArray(value)) return "[]";
  return isObject(value) ? "{}" : printJson(value);
}

/** `cluster (Cluster)`, `XR (XDatabase)`. */
export function entryTitle({ name, kind }: TraceEntryId): string {
  const title = name ?? "XR";
  return kind === undefined ? title : `${title} (${kind})`;
}

/** The path of a field, with its part if that is not the resource. */
export function fieldTitle(part: string, path: string): string {
  if (part === "resource") return path === "" ? "(the resource)" : path;
  return path === "" || path.startsWith("[") ? `${part}${path}` : `${part}.${path}`;
}

/** The origin of a field within its step; empty if only the step is known. */
export function originText({ from, source }: TraceOrigin): string {
  return [from, source].filter((text) => text !== undefined).join(", ");
}

/** `7.3 ms`, `412 ms`, `12.3 s`. */
export function timeText(ms: number): string {
  if (ms >= 9999.5) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 9.95 ? `${Math.round(ms)} ms` : `${Number(ms.toFixed(1))} ms`;
}

/** `812 B`, `1.2 kB`, `3.4 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 999_950 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** `1 field`, `3 fields`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** `XDatabase shop/orders`. */
export function objectTitle({ kind, name, namespace }: { kind: string; name: string; namespace?: string }): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}
