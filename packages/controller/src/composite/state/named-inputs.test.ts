import type { LiveObject } from "@xfn/kubernetes";
import { expect, test } from "vitest";
import type { RequiredWatches, Selection } from "../../objects/context.ts";
import { referenceOf, SECRETS } from "../../objects/kinds.ts";
import { NamedInputs } from "./named-inputs.ts";

const secret = (name: string) => referenceOf(SECRETS, name, "team");
const object = (name: string): LiveObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace: "team", uid: name, resourceVersion: "1" },
});
const XR = object("xr");

function stage(cached: Readonly<Record<string, LiveObject | undefined>> = {}) {
  const watched: string[][] = [];
  const nameIn = ({ namespace = "", fieldSelector = "" }: Selection): string =>
    `${namespace}/${fieldSelector.replace("metadata.name=", "")}`;
  const required: RequiredWatches = {
    watch: (_, selections, purpose) => void watched.push([purpose ?? "", ...selections.map(nameIn)]),
    forget: () => undefined,
    cache(selection) {
      const name = nameIn(selection).replace("team/", "");
      if (!Object.hasOwn(cached, name)) return undefined;
      const found = cached[name];
      return { list: () => (found === undefined ? [] : [found]) } as unknown as ReturnType<RequiredWatches["cache"]>;
    },
  };
  const inputs = new NamedInputs();
  inputs.begin(required);
  return { inputs, required, watched };
}

test("objects that a reconcile reads are watched by name, also if they do not exist", () => {
  const { inputs, watched } = stage();
  inputs.note(secret("a"));
  inputs.note(secret("a"));
  inputs.noteAccount({ namespace: "team", name: "composer" });
  inputs.noteAccount(undefined);
  inputs.end(XR, true);
  expect(watched).toEqual([["inputs", "team/a", "team/composer"]]);
});

test("a complete reconcile ends the watches of objects that it does not read, and a failed one keeps them", () => {
  const { inputs, required, watched } = stage();
  inputs.note(secret("a"));
  inputs.end(XR, true);
  inputs.begin(required);
  inputs.note(secret("b"));
  inputs.end(XR, false);
  inputs.begin(required);
  inputs.end(XR, true);
  inputs.begin(required);
  inputs.end(XR, true);
  expect(watched).toEqual([["inputs", "team/a"], ["inputs", "team/a", "team/b"], ["inputs"]]);
});

test("names that only earlier failed reconciles read are no longer watched", () => {
  const { inputs, required, watched } = stage();
  inputs.note(secret("a"));
  inputs.end(XR, true);
  for (const name of ["b", "c"]) {
    inputs.begin(required);
    inputs.note(secret(name));
    inputs.end(XR, false);
  }
  expect(watched.at(-1)).toEqual(["inputs", "team/a", "team/c"]);
});

test("a watched object is known at once, and so is that it does not exist", () => {
  const { inputs } = stage({ a: object("a"), gone: undefined });
  expect(inputs.known(secret("a"))).toEqual({ object: object("a") });
  expect(inputs.known(secret("gone"))).toEqual({ object: undefined });
  expect(inputs.known(secret("unwatched"))).toBeUndefined();
});

test("other kinds, and names that a selector would read otherwise, are not watched", () => {
  const { inputs, watched } = stage();
  inputs.note({ apiVersion: "v1", kind: "ConfigMap", name: "a", namespace: "team" });
  inputs.note(secret("a,b=c"));
  inputs.end(XR, true);
  expect(watched).toEqual([]);
});
