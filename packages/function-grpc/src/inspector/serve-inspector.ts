import type { Message } from "@xfn/protobuf";
import { ServeError } from "../errors/serve-error.ts";
import type { UnaryMethod } from "../server/served-call.ts";
import { UnaryServer } from "../server/unary-server.ts";
import {
  EMIT_REQUEST,
  EMIT_RESPONSE,
  EmitRequestRequest,
  EmitRequestResponse,
  EmitResponseRequest,
  EmitResponseResponse,
} from "./messages.ts";

/** Receives the messages of controllers. An error is the answer to the sender. */
export interface InspectorHandlers {
  onRequest(message: EmitRequestRequest): void;
  onResponse(message: EmitResponseRequest): void;
}

/** A pipeline inspector: a gRPC server without TLS for the messages of controllers. */
export function inspectorServer(
  { onRequest, onResponse }: InspectorHandlers,
  options: { readonly maxMessageBytes: number; readonly onError?: (message: string) => void },
): UnaryServer {
  return new UnaryServer({
    ...options,
    methods: new Map([
      [EMIT_REQUEST, receiver(EmitRequestRequest, onRequest, EmitRequestResponse)],
      [EMIT_RESPONSE, receiver(EmitResponseRequest, onResponse, EmitResponseResponse)],
    ]),
  });
}

function receiver<T>(type: Message<T>, receive: (message: T) => void, answer: Message<object>): UnaryMethod {
  return (bytes) => {
    try {
      receive(type.decode(bytes));
    } catch (cause) {
      throw new ServeError("InvalidArgument", "the message cannot be read", { cause });
    }
    return answer.encode({});
  };
}
