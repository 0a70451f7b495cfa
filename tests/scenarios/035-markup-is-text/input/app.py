[bold]x[/bold]
