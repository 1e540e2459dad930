// The one place that says how the stream is; a press pauses it or goes on.
export function LiveIndicator() {
  return null;
}
