import type { Desired } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import type { Masked } from "./masked.ts";
import { type MaskOptions, maskField, maskPlaces } from "./secret-places.ts";
import type { SecretValues } from "./secret-values.ts";

/** An entry of desired state with its secrets hidden, by part: `resource`, `connectionDetails`, and so on. */
export interface MaskedEntry {
  name: string | null;
  apiVersion: string | undefined;
  kind: string | undefined;
  /** Whether the deletion of the resource is desired. */
  isDeleted: boolean;
  parts: Map<string, Masked>;
}

/** Desired state with its secrets hidden, by entry name; null is the XR. */
export type MaskedState = Map<string | null, MaskedEntry>;

/** Hides everything that is a secret by its position. */
export function maskDesired(desired: Desired, options: MaskOptions): MaskedState {
  const state: MaskedState = new Map();
  if (desired.composite !== undefined) state.set(null, maskEntry(null, desired.composite, options));
  for (const entry of desired.resources ?? []) state.set(entry.name, maskEntry(entry.name, entry, options));
  return state;
}

function maskEntry(name: string | null, entry: JsonObject, options: MaskOptions): MaskedEntry {
  const parts = new Map<string, Masked>();
  const resource = entry["resource"];
  for (const key of Object.keys(entry)) {
    const value = entry[key];
    if (value === undefined || (key === "name" && name !== null) || (key === "resource" && value === null)) continue;
    parts.set(key, key === "resource" ? maskPlaces(value, options) : maskField(key, value, options));
  }
  const masked = parts.get("resource");
  return {
    name,
    apiVersion: textOf(masked, "apiVersion"),
    kind: textOf(masked, "kind"),
    isDeleted: resource === null,
    parts,
  };
}

/** Adds what function packages report about readiness, as a part of its own. */
export function addReadiness(state: MaskedState, readiness: ReadonlyMap<string | null, boolean>): void {
  for (const [name, isReady] of readiness) {
    const known = state.get(name);
    if (known === undefined ? name !== null : known.isDeleted) continue;
    const entry = known ?? { name, apiVersion: undefined, kind: undefined, isDeleted: false, parts: new Map() };
    entry.parts.set("ready", isReady);
    state.set(name, entry);
  }
}

function textOf(value: Masked | undefined, key: string): string | undefined {
  const text = value instanceof Map ? value.get(key) : undefined;
  return typeof text === "string" ? text : undefined;
}

/** Hides every text that contains a secret known from another position. */
export function maskValues(state: MaskedState, secrets: SecretValues): MaskedState {
  for (const entry of state.values()) {
    for (const [part, value] of entry.parts) entry.parts.set(part, secrets.mask(value));
  }
  return state;
}

/** The names of entries in a stable order, the XR first. */
export function entryNames(...states: MaskedState[]): (string | null)[] {
  const names = new Set(states.flatMap((state) => [...state.keys()]));
  return [...names].toSorted((a, b) => (a === b ? 0 : a === null ? -1 : b === null ? 1 : a < b ? -1 : 1));
}

/** Sorts the fields of all objects by name. */
export function sortFields(state: MaskedState): void {
  for (const { parts } of state.values()) for (const [part, value] of parts) parts.set(part, sorted(value));
}

function sorted(value: Masked): Masked {
  if (Array.isArray(value)) return value.map(sorted);
  if (!(value instanceof Map)) return value;
  const fields = [...value].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Map(fields.map(([name, field]) => [name, sorted(field)]));
}
