import type { JsonObject } from "@xfn/json";
import { shuffled } from "../../sweep/random.ts";
import { child, list } from "../rule.ts";
import type { VectorCase } from "../vector-file.ts";
import { inserted, type Mutation, pick, rebuilt } from "./mutation.ts";

// The same templates in another form.

const FILES = ["patches"];

/** Independent templates in another order. */
const order: Mutation = {
  name: "templates in another order",
  files: FILES,
  apply: (vector, next) => {
    const { resources, patchSets } = vector;
    const templates = list(resources);
    const names = new Set(templates.map(({ name }) => name));
    const isIndependent =
      templates.length > 1 &&
      names.size === templates.length &&
      // Patches to the XR and the environment change what later templates see.
      !/"(?:To|CombineTo)(?:Composite|Environment)"?/.test(JSON.stringify([resources, patchSets], plain)) &&
      // New names are numbered in this order.
      !/-\d{5}"/.test(JSON.stringify(vector["output"] ?? null, plain));
    return isIndependent ? { ...vector, resources: shuffled(templates, next) } : undefined;
  },
};

/** Patch sets in another order. */
const setOrder: Mutation = {
  name: "patch sets in another order",
  files: FILES,
  apply: (vector, next) => {
    const sets = list(vector["patchSets"]);
    const names = new Set(sets.map(({ name }) => name));
    return sets.length > 1 && names.size === sets.length ? { ...vector, patchSets: shuffled(sets, next) } : undefined;
  },
};

/** The patches of a template, moved to a patch set. */
const intoSet: Mutation = {
  name: "patches in a patch set",
  files: FILES,
  apply: (vector, next) => {
    const movable = list(vector["resources"]).filter(
      ({ patches }) => list(patches).length > 0 && list(patches).every(({ type }) => type !== "PatchSet"),
    );
    const template = pick(movable, next);
    if (template === undefined) return undefined;
    const name = `moved-${Math.floor(next() * 1e6)}`;
    // A set of its own for some of them, in their place.
    const patches = list(template["patches"]);
    const from = Math.floor(next() * patches.length);
    const to = from + 1 + Math.floor(next() * (patches.length - from));
    const inSet = { type: "PatchSet", patchSetName: name };
    return {
      ...vector,
      resources: replaced(vector, template, [...patches.slice(0, from), inSet, ...patches.slice(to)]),
      patchSets: inserted(list(vector["patchSets"]), { name, patches: patches.slice(from, to) }, next),
    };
  },
};

/** The patches of patch sets in their templates. */
const inlined: Mutation = {
  name: "patch sets inlined",
  files: FILES,
  apply: (vector) => {
    const sets = new Map(list(vector["patchSets"]).map(({ name, patches }) => [name, list(patches)]));
    if ([...sets.values()].some((patches) => patches.some(({ type }) => type === "PatchSet"))) return undefined;
    let changes = 0;
    const resources: JsonObject[] = [];
    for (const template of list(vector["resources"])) {
      const patches: JsonObject[] = [];
      for (const patch of list(template["patches"])) {
        const set = sets.get(patch["patchSetName"]);
        if (patch["type"] === "PatchSet" && set === undefined) return undefined;
        if (patch["type"] === "PatchSet") changes++;
        patches.push(...(patch["type"] === "PatchSet" && set !== undefined ? set : [patch]));
      }
      resources.push(template["patches"] === undefined ? template : { ...template, patches });
    }
    const { patchSets: _, ...rest } = vector;
    return changes === 0 ? undefined : { ...(rest as VectorCase), resources };
  },
};

/** A patch set that nothing uses. */
const unusedSet: Mutation = {
  name: "an unused patch set",
  files: FILES,
  apply: (vector, next) => {
    const patches = [
      { type: "FromCompositeFieldPath", fromFieldPath: "spec[0].none", policy: { fromFieldPath: "Required" } },
    ];
    return { ...vector, patchSets: inserted(list(vector["patchSets"]), { name: "nobody-uses-this", patches }, next) };
  },
};

/** An optional patch from a field that is not there. */
const idlePatch: Mutation = {
  name: "a patch from a missing field",
  files: FILES,
  apply: (vector, next) => {
    const template = pick(list(vector["resources"]), next);
    if (template === undefined || Object.hasOwn(child(vector, "xr"), "none")) return undefined;
    const patch = { type: "FromCompositeFieldPath", fromFieldPath: "none.such[3]", toFieldPath: "spec.none" };
    const patches = inserted(list(template["patches"]), patch, next);
    return { ...vector, resources: replaced(vector, template, patches) };
  },
};

const FROM_FIELD = /^(?:From|To)(?:Composite|Environment)FieldPath$/;

/** Defaults that the reference's code has, spelled out. */
const defaults: Mutation = {
  name: "defaults spelled out",
  files: FILES,
  apply: (vector, next) => {
    let changes = 0;
    const spelled = (value: JsonObject): JsonObject => {
      const { type, fromFieldPath, toFieldPath, policy } = value;
      if (typeof type !== "string" || !FROM_FIELD.test(type) || typeof fromFieldPath !== "string") return value;
      const addPath = toFieldPath === undefined && next() < 0.7;
      const addPolicy = policy === undefined && next() < 0.7;
      if (addPath || addPolicy) changes++;
      return {
        ...value,
        ...(addPath && { toFieldPath: fromFieldPath }),
        ...(addPolicy && { policy: { fromFieldPath: "Optional" } }),
      };
    };
    const { resources, patchSets, environmentPatches } = vector;
    const all = rebuilt(
      { resources: resources ?? [], patchSets: patchSets ?? [], environmentPatches: environmentPatches ?? [] },
      (value, key) => (key === "patches" || key === "environmentPatches" ? list(value).map(spelled) : value),
    ) as JsonObject;
    if (changes === 0) return undefined;
    const kept = Object.entries(all).filter(([field]) => vector[field] !== undefined);
    return { ...vector, ...Object.fromEntries(kept) };
  },
};

/** Mutations of templates. */
export const TEMPLATES: readonly Mutation[] = [order, setOrder, intoSet, inlined, unusedSet, idlePatch, defaults];

function replaced(vector: VectorCase, template: JsonObject, patches: readonly JsonObject[]): JsonObject[] {
  return list(vector["resources"]).map((one) => (one === template ? { ...one, patches: [...patches] } : one));
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
