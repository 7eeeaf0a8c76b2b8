import { claimCrd, compositeCrd } from "@xfn/composition/definition";
import { isObject, type JsonObject } from "@xfn/json";
import type { Adapter } from "../adapter.ts";

/** Converts a CompositeResourceDefinition to the CRD of the composite resource, or of its claim. */
export const definitions: Adapter = {
  run: (vector) => {
    const xrd = vector["xrd"] as JsonObject;
    return vector["crd"] === "claim" ? claimCrd(xrd) : compositeCrd(xrd);
  },
  normalize: (output) => {
    if (!isObject(output)) return output;
    const { status: _status, apiVersion: _apiVersion, kind: _kind, ...rest } = output;
    return rest;
  },
};
