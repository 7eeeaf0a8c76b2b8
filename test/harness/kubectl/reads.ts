import { isObject, type JsonObject } from "@xfn/json";
import type { CommandLine } from "./command-line.ts";
import { printJsonPath } from "./json-path.ts";
import { NotImitated } from "./not-imitated.ts";
import { expectFlags, nameOf, referenceTo, type Session, targetsOf } from "./session.ts";

export async function get(session: Session, command: CommandLine): Promise<string> {
  expectFlags(command, "namespace", "output", "selector", "all-namespaces");
  const { output, selector, namespace, "all-namespaces": everywhere } = command.flags;
  if (output !== "name" && output !== "json" && !output.startsWith("jsonpath=")) throw new NotImitated(output);
  const targets = await targetsOf(session, command);
  const isSingle = targets.length === 1 && targets[0]?.references.length === 1;
  const found = await Promise.all(
    targets.map(async ({ kind, references }) => {
      if (references.length > 0) return Promise.all(references.map((reference) => session.client.get(reference)));
      const within = kind.namespaced && everywhere !== "true" ? { namespace } : {};
      const { items } = await session.client.list(kind, { ...within, ...(selector && { labelSelector: selector }) });
      return items;
    }),
  );
  const items = found.flat();
  if (output === "name") return items.map((item) => `${nameOf(referenceTo(item))}\n`).join("");
  const [only] = items;
  const list: JsonObject = { apiVersion: "v1", items: [...items], kind: "List", metadata: { resourceVersion: "" } };
  const shown = isSingle && only !== undefined ? only : list;
  return output === "json"
    ? `${JSON.stringify(shown, (key, value: unknown) => (key === "managedFields" ? undefined : value), 4)}\n`
    : printJsonPath(output.slice("jsonpath=".length), shown);
}

/** `auth can-i VERB TYPE`. kubectl prints "no" too, but fails. */
export async function canI({ client, types }: Session, { words, flags, given }: CommandLine): Promise<string> {
  const [can, verb = "", type = "", ...more] = words;
  if (can !== "can-i" || more.length > 0) throw new NotImitated(`auth ${words.join(" ")}`);
  for (const flag of given) if (flag !== "namespace" && flag !== "as") throw new NotImitated(`auth can-i --${flag}`);
  const { group, plural, namespaced } = await types.named(type);
  const resourceAttributes = { verb, group, resource: plural, ...(namespaced && { namespace: flags.namespace }) };
  const review = await client.raw("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    body: { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } },
    ...(flags.as !== "" && { as: flags.as }),
  });
  const status = isObject(review) && isObject(review["status"]) ? review["status"] : {};
  if (status["allowed"] !== true) throw new Error(`kubectl auth ${words.join(" ")}: no`);
  return "yes\n";
}
