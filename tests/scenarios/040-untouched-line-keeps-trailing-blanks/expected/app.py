a  
b	
C
