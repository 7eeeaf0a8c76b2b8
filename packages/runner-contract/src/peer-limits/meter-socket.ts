import type { Socket } from "node:net";
import type { PeerBudget } from "./peer-budget.ts";
import { PeerLimitError } from "./peer-limit-error.ts";

/**
 * Ends a connection to an HTTP/1 server once it exceeds the budget. All bytes are charged as they are read, including
 * blank lines, headers, chunk extensions and trailers. The client of the connection refunds the content.
 *
 * @param event the event at which the HTTP client reads. Another event would change how the socket flows.
 * @returns a function that charges the bytes that have arrived since its last call. A client that also reads without
 *   the event must call it first: otherwise the refund of content that is not charged yet is lost.
 */
export function meterSocket(socket: Socket, budget: PeerBudget, event: "data" | "readable"): () => void {
  let counted = socket.bytesRead;
  const charge = (): void => {
    const bytes = socket.bytesRead - counted;
    counted += bytes;
    if (bytes > 0 && !budget.spendRead(bytes, bytes)) socket.destroy(new PeerLimitError());
  };
  socket.on(event, charge);
  return charge;
}
