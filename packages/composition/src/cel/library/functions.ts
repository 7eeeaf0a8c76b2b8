import { defineCollections } from "./collections.ts";
import { defineConversions } from "./conversions.ts";
import { defineDates } from "./dates.ts";
import { type Functions, functionsOf } from "./define.ts";
import { defineNamedFormats } from "./named-formats.ts";
import { defineNetwork } from "./network.ts";
import { defineOperators } from "./operators.ts";
import { defineOptionals } from "./optionals.ts";
import { defineQuantities } from "./quantities.ts";
import { defineStrings } from "./strings.ts";
import { defineUrls } from "./urls.ts";
import { defineVersions } from "./versions.ts";

let functions: Functions | undefined;

/**
 * The functions of rules in Kubernetes 1.34. Its API server does not yet accept version 3 of CEL's lists library in new
 * rules: Kubernetes introduces a library for stored rules one release earlier.
 */
export function allFunctions(): Functions {
  functions ??= functionsOf([
    defineOperators,
    defineConversions,
    defineDates,
    defineStrings,
    defineCollections,
    defineOptionals,
    defineQuantities,
    defineUrls,
    defineNetwork,
    defineVersions,
    defineNamedFormats,
  ]);
  return functions;
}
