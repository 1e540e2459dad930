import "./tokens.css";
import "./base.css";
import "./ui/ui.css";
import "./frame/frame.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { queryClient } from "./api/queries";
import { applyPreferences } from "./preferences";
import { router } from "./routes";
import { isSharedPage, sharedRouter } from "./shared-routes";

applyPreferences();
const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        {isSharedPage ? <RouterProvider router={sharedRouter} /> : <RouterProvider router={router} />}
      </QueryClientProvider>
    </StrictMode>,
  );
