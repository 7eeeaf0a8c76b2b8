import type { WebhookStep } from "@xfn/composition";
import { DEFAULT_OUTPUT_BYTES } from "@xfn/runner-contract";
import { PipelineError } from "../outcome/pipeline-error.ts";
import type { FunctionCall, OutputWords } from "./function-call.ts";
import type { PipelineInput } from "./pipeline-input.ts";

const DEFAULT_TIMEOUT_MS = 10_000;
/** The key of a token in a Secret, as in those of service accounts. */
const TOKEN = "token";

/** The call of a function that is an HTTPS server. */
export function webhookCall({ name, webhook }: WebhookStep, { webhooks, credentials }: PipelineInput): FunctionCall {
  const { url, caBundle, timeoutMs = DEFAULT_TIMEOUT_MS, credentials: { secretRef } = {} } = webhook;
  const token = async (): Promise<string | undefined> => {
    if (secretRef === undefined) return undefined;
    const secret = await credentials?.(secretRef);
    const value = secret?.get(TOKEN);
    if (value !== undefined) return new TextDecoder().decode(value).trim();
    const what = secret === undefined ? "does not exist" : `has no key ${TOKEN}`;
    throw new PipelineError(
      "RunFailed",
      `the Secret ${secretRef.namespace}/${secretRef.name} of its credentials ${what}`,
      {
        retryable: true,
      },
    );
  };
  return {
    step: name,
    image: url,
    called: `webhook ${url}`,
    advice: ADVICE,
    words: WORDS,
    maxOutputBytes: webhooks?.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES,
    async run(input, { signal, onPhase }) {
      if (webhooks === undefined) throw new PipelineError("Unsupported", "webhooks cannot be called here");
      const started = performance.now();
      const output = await webhooks.call(url, input, { step: name, caBundle, timeoutMs, token: await token(), signal });
      onPhase?.("run", performance.now() - started);
      return output;
    },
  };
}

/** How to fix the Composition, by the code of a {@link WebhookError}. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  ["Timeout", "raise the step's webhook.timeout (default 10s) if it needs longer"],
  ["CertificateRefused", "set the step's webhook.caBundle to the authority that signed the server's certificate"],
]);

const WORDS: OutputWords = {
  empty: "it returned an empty body",
  several: "it returned more than one document",
  output: "its response",
  hint: "",
};
