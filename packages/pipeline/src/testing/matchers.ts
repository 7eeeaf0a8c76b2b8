import { closest } from "@xfn/composition";
import { isObject, type JsonValue, type KubernetesObject, type Severity } from "@xfn/functionio";
import { expect } from "vitest";
import type { StepResult } from "../pipeline.ts";
import { Rendering } from "./rendering.ts";
import { TestingError } from "./testing-error.ts";

declare module "vitest" {
  // The parameters must be those of vitest's own declaration.
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown> {
    /**
     * A resource is composed under an entry name, and has these fields (others too, as with `toMatchObject`; asymmetric
     * matchers such as `expect.any(String)` work).
     */
    toComposeResource(name: string, fields?: object): R;
    /** The XR is ready, or one composed resource of it. */
    toBeReady(name?: string): R;
    /** A function, or the pipeline, gave a result: a text must be contained in its message, a RegExp match it. */
    toHaveResult(severity: Severity, message?: string | RegExp): R;
    /** The XR publishes a connection detail, with this value if one is given. No message shows a value. */
    toPublish(name: string, value?: string): R;
  }
}

/** This many names are listed in a message. */
const MAX_LISTED = 30;
const SEVERITIES: readonly Severity[] = ["Fatal", "Warning", "Normal"];

expect.extend({
  toComposeResource(received: unknown, name: string, fields?: object) {
    const rendering = asRendering(received, "toComposeResource");
    const resource = rendering.resource(name);
    const title = `the entry ${JSON.stringify(name)}`;
    if (resource === undefined) {
      return { pass: false, message: () => `expected ${title} to be composed, ${whyMissing(rendering, name)}` };
    }
    const testers = [...this.customTesters, this.utils.iterableEquality, this.utils.subsetEquality];
    const matches = (actual: unknown, expected: unknown): boolean => this.equals(actual, expected, testers);
    const pass = fields === undefined || matches(resource, fields);
    return {
      pass,
      message: () => {
        if (fields === undefined) return `expected ${title} not to be composed; it is ${describe(resource)}`;
        if (pass) return `expected ${title} (${describe(resource)}) not to have these fields:\n${this.utils.stringify(fields)}`;
        const diff = this.utils.diff(fields, narrowed(resource, fields, matches)) ?? "";
        return `${title} (${describe(resource)}) has not the expected fields\n\n${diff}`;
      },
    };
  },

  toBeReady(received: unknown, name?: string) {
    const rendering = asRendering(received, "toBeReady");
    if (name !== undefined && rendering.resource(name) === undefined) {
      const message = `expected the entry ${JSON.stringify(name)} to be ready, ${whyMissing(rendering, name)}`;
      return { pass: false, message: () => message };
    }
    const pass = name === undefined ? isReady(rendering) : !rendering.unready.includes(name);
    const title = name === undefined ? `the composite resource ${describe(rendering.composite)}` : `the entry ${JSON.stringify(name)}`;
    return {
      pass,
      message: () => pass ? `expected ${title} not to be ready` : `expected ${title} to be ready\n${whyUnready(rendering, name)}`,
    };
  },

  toHaveResult(received: unknown, severity: Severity, message?: string | RegExp) {
    const rendering = asRendering(received, "toHaveResult");
    if (!SEVERITIES.includes(severity)) {
      throw new TestingError("InvalidInput", `toHaveResult: a severity is one of ${SEVERITIES.join(", ")}`);
    }
    const found = rendering.results.filter((one) => one.severity === severity && says(one, message));
    const wanted = `a ${severity} result${message === undefined ? "" : ` that ${typeof message === "string" ? `contains ${JSON.stringify(message)}` : `matches ${String(message)}`}`}`;
    return {
      pass: found.length > 0,
      message: () => found.length > 0 ? `expected no ${wanted.slice(2)}; there is\n${results(found)}` : `expected ${wanted}; ${rendering.results.length === 0 ? "there are no results" : `the results are\n${results(rendering.results)}`}`,
    };
  },

  toPublish(received: unknown, name: string, value?: string) {
    const { connectionDetails, fatal } = asRendering(received, "toPublish");
    const found = connectionDetails.get(name);
    const pass = found !== undefined && (value === undefined || found === value);
    return {
      pass,
      message: () => {
        const title = `the connection detail ${JSON.stringify(name)}`;
        if (pass) return `expected ${title} not to be published${value === undefined ? "" : " with this value"}`;
        if (found !== undefined) return `expected ${title} to have another value (values are not shown)`;
        const why = fatal === undefined ? `published are ${listed(connectionDetails.names)}${didYouMean(name, connectionDetails.names)}` : ended(fatal);
        return `expected ${title} to be published; ${why}`;
      },
    };
  },
});

expect.addSnapshotSerializer({
  test: (value: unknown) => value instanceof Rendering,
  serialize: (value: unknown) => String(value).trimEnd(),
});

function asRendering(received: unknown, matcher: string): Rendering {
  if (received instanceof Rendering) return received;
  const found = received instanceof Promise ? "a promise: await it" : `${received === null ? "null" : typeof received}`;
  throw new TestingError("InvalidInput", `${matcher} is about what render of @xfn/pipeline/testing returns, and was given ${found}`);
}
